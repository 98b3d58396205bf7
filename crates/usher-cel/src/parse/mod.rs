//! Text to syntax tree.
