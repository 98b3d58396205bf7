//! JSON parsed into values that borrow from the text.
