mod errors;
mod limits;
mod spans;
