use anyhow::{Result, bail};
use serde_json::Value;
use usher::engine::RuleSet;
pub(crate) struct Shipped {
    pub(crate) all: RuleSet,
}
pub(crate) fn shipped_rules() -> Result<&'static Shipped> {
    bail!("later")
}
pub(crate) fn verdict(_: &Value) -> Result<Value> {
    bail!("later")
}
