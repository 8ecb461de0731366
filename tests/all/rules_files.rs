//! The rule files as a product: clean, complete, and found under the names that other tools use.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use overspill::{Error, Overspill, Ruleset};

/// The files as they stand, not as compiled in: what somebody who copies the directory gets, examples run.
static FILES: LazyLock<Result<Ruleset, Error>> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    Ruleset::builder().without_embedded().directory(dir).build()
});

/// Each provider with names that it has in models.dev, LiteLLM, `LangChain`, OpenTelemetry, OpenRouter and agents. Any case, and `-`, `_`, `.`, `/` and blanks alike, need no row.
const NAMES: [(&str, &[&str]); 65] = [
    ("ai21", &["AI21 Labs", "ai21_chat"]),
    ("baseten", &["BaseTen"]),
    ("gigachat", &["GigaChat", "sber"]),
    ("ovhcloud", &["OVHcloud", "ovh"]),
    ("scaleway", &["scw"]),
    ("anthropic", &["claude", "claude-code", "anthropic_text"]),
    ("azure-ai", &["azure_ai", "azure-ai-foundry", "azure_ml", "azure.ai.inference", "az.ai.inference"]),
    ("azure-openai", &["azure", "azure_openai", "azure-openai-responses", "azure-cognitive-services", "azure_text", "azure.ai.openai", "az.ai.openai"]),
    ("baidu", &["qianfan", "ernie", "wenxin"]),
    ("bedrock", &["amazon-bedrock", "aws-bedrock", "bedrock_converse", "amazon_bedrock", "aws.bedrock", "Amazon Nova", "anthropic_bedrock"]),
    ("cerebras", &["cerebras-ai"]),
    ("chutes", &["chutes-ai"]),
    ("cloudflare", &["workers-ai", "cloudflare-workers-ai", "cloudflare-ai-gateway"]),
    ("codex", &["openai-codex", "chatgpt"]),
    ("cohere", &["cohere_chat", "cohere-ai"]),
    ("dashscope", &["alibaba", "qwen", "alibaba-cn", "alibaba-coding-plan", "aliyun", "bailian", "tongyi"]),
    ("databricks", &["databricks-serving"]),
    ("deepinfra", &["deep-infra"]),
    ("deepseek", &["deepseek-ai"]),
    ("fal", &["fal_ai", "fal-ai"]),
    ("featherless", &["featherless_ai"]),
    ("fireworks", &["fireworks_ai", "fireworks-ai"]),
    ("gemini", &["google", "google-ai-studio", "google_genai", "google-generative-ai", "gcp.gemini", "gcp.gen_ai", "google_gla", "Google AI Studio"]),
    ("github-copilot", &["copilot", "github_copilot"]),
    ("github-models", &["github"]),
    ("groq", &["groqcloud"]),
    ("helicone", &["helicone-ai-gateway"]),
    ("huggingface", &["hugging_face", "hf", "hf-inference", "huggingface_hub"]),
    ("jina", &["jina_ai"]),
    ("kimi-coding", &["kimi-for-coding"]),
    ("litellm", &["litellm_proxy"]),
    ("llama-cpp", &["llama.cpp", "llamacpp", "llama-server", "llamafile"]),
    ("lm-studio", &["lmstudio", "lm_studio"]),
    ("minimax", &["minimax-cn", "minimaxi", "minimax-cn-coding-plan"]),
    ("mistral", &["mistralai", "codestral", "mistral_ai"]),
    ("moonshot", &["moonshotai", "moonshotai-cn", "kimi", "Moonshot AI"]),
    ("novita", &["novita-ai"]),
    ("nvidia-nim", &["nvidia", "nvidia_nim", "nim", "nvidia_ai_endpoints"]),
    ("ollama", &["ollama_chat", "ollama-cloud"]),
    ("openai", &["open-ai", "openai-responses", "text-completion-openai"]),
    ("opencode-zen", &["opencode"]),
    ("openrouter", &["open-router"]),
    ("oracle-oci", &["oci", "oci_genai", "oracle"]),
    ("perplexity", &["perplexity-ai", "pplx"]),
    ("sagemaker", &["sagemaker_chat", "amazon-sagemaker"]),
    ("sambanova", &["samba-nova"]),
    ("sglang", &["SGLang"]),
    ("sap-ai-core", &["sap"]),
    ("siliconflow", &["siliconflow-cn"]),
    ("snowflake", &["snowflake-cortex"]),
    ("stepfun", &["step"]),
    ("tencent-hunyuan", &["hunyuan", "tencent"]),
    ("tgi", &["text-generation-inference"]),
    ("together", &["together_ai", "togetherai", "together-ai"]),
    ("upstage", &["solar"]),
    ("vercel", &["vercel_ai_gateway", "ai-gateway"]),
    (
        "vertex",
        &[
            "google-vertex",
            "vertex_ai",
            "vertex-ai",
            "google-vertex-anthropic",
            "vertexai",
            "gcp.vertex_ai",
            "google_anthropic_vertex",
            "google_vertexai",
            "Google Vertex",
            "google_vertex_anthropic",
        ],
    ),
    ("vllm", &["hosted_vllm"]),
    ("volcengine", &["ark", "doubao", "byteplus", "Seed", "bytedance"]),
    ("voyage", &["voyageai"]),
    ("watsonx", &["watsonx_text", "ibm", "ibm.watsonx.ai"]),
    ("xai", &["x-ai", "grok", "x_ai"]),
    ("xiaomi-mimo", &["xiaomi"]),
    ("xinference", &["xorbits-inference"]),
    ("zai", &["z-ai", "zhipu", "zhipuai", "bigmodel", "glm", "zai-coding-plan", "zhipuai-coding-plan"]),
];

/// Ids that say more than whom they are about, and so stand in no rule file: of the AI SDK, `LangChain`, LiteLLM, OpenRouter, pydantic-ai. Any case needs no row.
const LONGER: [(&str, &[&str]); 26] = [
    ("ai21", &["ai21.chat", "ai21/jamba-large-1.7"]),
    ("gigachat", &["langchain-gigachat", "gigachat/GigaChat-2-Max"]),
    ("anthropic", &["anthropic.messages", "langchain-anthropic", "langchain_anthropic.chat", "anthropic:claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"]),
    ("azure-openai", &["azure.responses", "azure.chat", "azure-openai.chat", "azure-openai.completion", "azure/gpt-4.1", "azure.ai.openai"]),
    ("azure-ai", &["azure.ai.inference", "azure_ai/mistral-large", "langchain-azure-ai"]),
    (
        "bedrock",
        &[
            "bedrock/anthropic.claude-3",
            "bedrock/us-east-1/anthropic.claude-3-5-sonnet-20241022-v2:0",
            "bedrock/converse/us.amazon.nova-pro-v1:0",
            "amazon-bedrock.chat",
            "bedrock.anthropic.messages",
        ],
    ),
    ("cohere", &["cohere.chat", "cohere.textEmbedding"]),
    ("deepinfra", &["deepinfra/fp4", "deepinfra.chat"]),
    ("deepseek", &["deepseek.chat", "deepseek/deepseek-chat"]),
    ("fireworks", &["fireworks.chat", "fireworks_ai/accounts/fireworks/models/kimi-k2-instruct"]),
    ("gemini", &["google.generative-ai", "google.generative-ai.chat", "google-gla:gemini-2.5-pro", "gemini/gemini-2.5-pro", "langchain-google-genai"]),
    ("groq", &["groq.chat", "groq.transcription", "langchain_groq", "groq/llama-3.3-70b-versatile"]),
    ("huggingface", &["huggingface.responses", "langchain-huggingface"]),
    ("mistral", &["mistral.chat", "mistral.embedding", "langchain-mistralai", "MistralAI:codestral-latest"]),
    ("moonshot", &["moonshotai.chat", "moonshot/kimi-k2.5"]),
    ("nvidia-nim", &["langchain-nvidia-ai-endpoints", "nvidia_nim/meta/llama3-70b-instruct"]),
    ("ollama", &["ollama.chat", "ollama:llama3.2:latest", "ollama/qwen3:8b", "langchain-ollama"]),
    ("openai", &["openai.chat", "openai.responses", "openai.completion", "openai.embedding", "langchain-openai", "LangChain_OpenAI", "openai/gpt-5:low", "openai:gpt-5.1"]),
    ("openrouter", &["openrouter.chat", "openrouter/anthropic/claude-3.5-sonnet", "openrouter/deepseek/deepseek-chat-v3.1:free"]),
    ("perplexity", &["perplexity.chat", "perplexity/sonar-pro"]),
    ("together", &["togetherai.chat", "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo", "together/fp8"]),
    ("vercel", &["vercel_ai_gateway/openai/gpt-4o", "vercel/anthropic/claude-sonnet-4.5"]),
    (
        "vertex",
        &[
            "google.vertex.chat",
            "google.vertex.image",
            "google.vertex.xai",
            "vertex.anthropic.messages",
            "google.vertex.anthropic.messages",
            "vertex_ai/gemini-2.5-pro",
            "langchain-google-vertexai",
        ],
    ),
    ("vllm", &["hosted_vllm/facebook/opt-125m", "vllm:8000"]),
    ("xai", &["xai.chat", "xai.responses", "xai/grok-4.1"]),
    ("zai", &["zai.chat", "zai/glm-4.7"]),
];

fn files() -> &'static Ruleset {
    match &*FILES {
        Ok(ruleset) => ruleset,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_files_have_neither_errors_nor_warnings() {
    let doubts = files().lint();
    assert!(doubts.is_empty(), "{doubts}");
}

#[test]
fn the_files_are_those_compiled_in() {
    let embedded = Overspill::embedded();
    assert_eq!(embedded.ruleset().version(), files().version());
}

#[test]
fn the_files_cover_the_field() {
    let providers = files().provider_views().count();
    assert!(providers >= 60, "{providers} providers");
    assert!(files().rule_count() >= 350, "{} rules", files().rule_count());
    assert!(files().example_count() >= files().rule_count(), "{} examples of {} rules", files().example_count(), files().rule_count());
}

#[test]
fn every_rule_says_where_and_when_it_was_seen() {
    let rules = files().provider_views().flat_map(|provider| provider.own_rules());
    let bare: Vec<_> = rules.filter(|rule| rule.source().is_none() || rule.seen().is_none()).map(|rule| rule.origin()).collect();
    assert!(bare.is_empty(), "without `source` or `seen`: {bare:?}");
}

#[test]
fn names_of_rules_are_unique() {
    let (mut seen, mut twice) = (BTreeSet::new(), Vec::new());
    for rule in files().provider_views().flat_map(|provider| provider.own_rules()) {
        if !seen.insert(rule.name()) {
            twice.push(rule.name());
        }
    }
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(seen.len(), files().rule_count());
}

#[test]
fn providers_are_found_under_the_names_of_other_tools() {
    let mut wrong = Vec::new();
    for (provider, aliases) in NAMES {
        for name in std::iter::once(&provider).chain(aliases) {
            wrong.extend(spellings(name).into_iter().filter_map(|spelling| {
                let found = files().provider(&spelling).map(|found| found.name());
                (found != Some(provider)).then(|| format!("{spelling}: {found:?}, not {provider}"))
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The name as it stands, in capitals, and with each of the separators.
fn spellings(name: &str) -> Vec<String> {
    let separated = ['-', '_', '.', '/', ' '].map(|separator| name.replace(['-', '_', '.', '/'], &separator.to_string()));
    [name.to_owned(), name.to_uppercase(), format!(" {name} ")].into_iter().chain(separated).collect()
}

#[test]
fn providers_are_found_under_ids_that_say_more() {
    let mut wrong = Vec::new();
    for (provider, names) in LONGER {
        for name in names.iter().flat_map(|name| [(*name).to_owned(), name.to_uppercase(), format!(" {name} ")]) {
            let found = files().provider(&name).map(|found| found.name());
            if found != Some(provider) {
                wrong.push(format!("{name}: {found:?}, not {provider}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nobody_is_found_under_a_strangers_name() {
    let many = format!("openai{}", "/x".repeat(100_000));
    let strangers = [
        "",
        "a-stranger",
        "open",
        "openai2",
        "-",
        "overspill",
        ".",
        "/",
        ":",
        "a/b:c.d",
        &many,
        // Hosts of others, and of a provider's own but by their first label.
        "together.example.com",
        "together.example.com:8080/v1",
        "openai.corp.example",
        "api.openai.com",
        "https://api.openai.com/v1",
        "open.ai.example.org",
        // What follows a hyphen belongs to the name.
        "groq-chat",
        "openai-2",
        "anthropic-chat-proxy",
        // The prefix alone, or without a separator, is nobody.
        "langchain",
        "langchain-",
        "langchain-a-stranger",
        "langchainopenai",
        "llangchain-openai",
        "lang",
        "é.chat",
        "openaié",
        "langchaié-openai",
    ];
    for name in strangers {
        assert!(files().provider(name).is_none(), "{name}");
    }
}
