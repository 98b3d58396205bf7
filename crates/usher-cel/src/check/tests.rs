//! See `tests/kubernetes_library/checks.jsonl` for the comparison with cel-go.
