use anyhow::{Result, bail};
use serde_json::Value;
pub(crate) fn apply(_: &Value) -> Result<Value> {
    bail!("later")
}
pub(crate) fn difference(_: &Value) -> Result<Value> {
    bail!("later")
}
