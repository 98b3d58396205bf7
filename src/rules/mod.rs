//! Rules: the only translation from what users write ([`crate::api`]) to what is evaluated ([`crate::engine`]).

mod guards;
