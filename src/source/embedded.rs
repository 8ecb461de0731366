//! The rules compiled into the library.

macro_rules! embedded {
    ($($name:literal,)+) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/", $name))),)+]
    };
}

/// Every file of `rules/`, by name; a test keeps the list true.
const FILES: &[(&str, &str)] = embedded! {
    "ai-dial.toml",
    "aider.toml",
    "aihubmix.toml",
    "anthropic-compatible.toml",
    "anthropic.toml",
    "antigravity.toml",
    "apisix.toml",
    "aws.toml",
    "azure-ai.toml",
    "azure-openai.toml",
    "baidu.toml",
    "bedrock.toml",
    "cc-switch.toml",
    "cerebras.toml",
    "chinese.toml",
    "chutes.toml",
    "claude-code-router.toml",
    "cliproxyapi.toml",
    "cloudflare.toml",
    "codebuddy.toml",
    "codex.toml",
    "cohere.toml",
    "continue.toml",
    "cursor.toml",
    "dashscope.toml",
    "databricks.toml",
    "deepinfra.toml",
    "deepseek.toml",
    "default.toml",
    "dify.toml",
    "ds4.toml",
    "envoy-ai-gateway.toml",
    "fal.toml",
    "featherless.toml",
    "fireworks.toml",
    "gemini.toml",
    "github-copilot.toml",
    "github-models.toml",
    "google-rpc.toml",
    "gpt4all.toml",
    "gpt4free.toml",
    "groq.toml",
    "helicone.toml",
    "huawei.toml",
    "huggingface.toml",
    "iflytek-spark.toml",
    "infinity.toml",
    "jina.toml",
    "kimi-coding.toml",
    "kiro.toml",
    "koboldcpp.toml",
    "kong.toml",
    "kronk.toml",
    "lemonade.toml",
    "librechat.toml",
    "litellm.toml",
    "llama-box.toml",
    "llama-cpp-python.toml",
    "llama-cpp.toml",
    "llm-d.toml",
    "lm-studio.toml",
    "lmdeploy.toml",
    "local-server.toml",
    "localai.toml",
    "minimax.toml",
    "mistral.toml",
    "mlx.toml",
    "modelscope.toml",
    "moonshot.toml",
    "neon-ai-gateway.toml",
    "new-api.toml",
    "nomic.toml",
    "novita.toml",
    "nvidia-nim.toml",
    "octopus-proxy.toml",
    "ollama.toml",
    "openai-compatible.toml",
    "openai.toml",
    "opencode-zen.toml",
    "openrouter.toml",
    "oracle-oci.toml",
    "perplexity.toml",
    "poe.toml",
    "poolside.toml",
    "portkey.toml",
    "ppio.toml",
    "ray-serve.toml",
    "replicate.toml",
    "rkllama.toml",
    "sagemaker.toml",
    "sambanova.toml",
    "sap-ai-core.toml",
    "sensenova.toml",
    "sglang.toml",
    "siliconflow.toml",
    "snowflake.toml",
    "stepfun.toml",
    "sub2api.toml",
    "tabbyapi.toml",
    "tei.toml",
    "tencent-hunyuan.toml",
    "tensorrt-llm.toml",
    "textgen-webui.toml",
    "tgi.toml",
    "together.toml",
    "transport.toml",
    "upstage.toml",
    "vercel.toml",
    "vertex.toml",
    "vllm.toml",
    "volcengine.toml",
    "voyage.toml",
    "watsonx.toml",
    "xai.toml",
    "xiaomi-mimo.toml",
    "xinference.toml",
    "zai.toml",
};

pub(crate) fn embedded_texts() -> &'static [(&'static str, &'static str)] {
    FILES
}

#[cfg(test)]
mod tests {
    use super::FILES;

    #[test]
    fn every_rule_file_is_embedded() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
        let listed = std::fs::read_dir(dir).map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect());
        let mut on_disk: Vec<String> = listed.unwrap_or_default();
        on_disk.sort();
        assert_eq!(on_disk, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
