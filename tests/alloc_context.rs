//! Asking about a context, or for a provider by a name, allocates nothing, and reading a usage next to nothing. In a binary of its own: the allocator counts for the whole process.

use allocation_counter::measure;
use overspill::{CacheChurn, Demand, Finish, Governor, Overspill, PromptGrowth, Reply, Usage};

#[test]
fn checks_allocate_nothing() {
    let overspill = Overspill::embedded();
    let context = overspill.context("anthropic", "claude-sonnet-4-5");
    // The first reply of a provider builds what reads its replies.
    assert_eq!(context.finish("length"), Finish::Length);
    let usage = Usage::new(3).with_cache_read(170_000).with_cache_write(12_000).with_output(99);
    let allocations = |what: &str, allowed: u64, run: &dyn Fn()| {
        let count = measure(run).count_total;
        assert!(count <= allowed, "{what}: {count} allocations");
    };
    allocations("should_compact", 0, &|| assert!(context.should_compact(&usage)));
    allocations("check", 0, &|| assert!(context.check(&Reply::new(Some(usage)).with_finish(context.finish("max_tokens"))).compact()));
    allocations("context", 0, &|| assert!(overspill.context("anthropic", "claude-sonnet-4-5").should_compact(&usage)));
    allocations("context of an unknown model", 0, &|| assert!(!overspill.context("openai", "nobody-knows").should_compact(&usage)));
    let ruleset = overspill.ruleset();
    for name in ["anthropic", " AWS Bedrock", "google_anthropic_vertex", "vertex_ai/gemini-2.5-pro", "google.vertex.chat", "langchain-openai", "a.stranger/of:many.parts"] {
        allocations(name, 0, &|| _ = ruleset.provider(name));
    }
    allocations("read", 1, &|| assert!(context.usage(r#"{"type":"message","usage":{"input_tokens":5,"output_tokens":7}}"#).is_some()));
    allocations("watches", 0, &|| {
        let (mut growth, mut churn, mut governor) = (PromptGrowth::default(), CacheChurn::default(), Governor::default());
        let _ = (growth.observe(1, 2), churn.observe(&usage), governor.ask(&Demand::new(190_000).within(&context)));
        governor.compacted(5);
    });
}
