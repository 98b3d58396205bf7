//! The webhook configurations: what the API server asks this server about, kept by the leader.
//!
//! [`configuration`] says what each of the two should be and how what there is differs. [`probing`] asks the API server whether it asks us, and
//! [`path`] judges the answers: an entry fails closed only while its path is proven. [`registered`] is what the status of rules says of all that.
//! [`keeper`] hears of all that changes, and [`work`] does what there is to do. Where
//! others keep the configurations, [`observer`] looks at them.

mod configuration;
mod keeper;
mod kept;
mod metrics;
mod observer;
mod path;
mod probing;
mod registered;
mod work;

use std::path::PathBuf;

use crate::rules::registration::Address;

pub(super) use keeper::Keeper;
pub use metrics::RegistrationMetrics;
pub(super) use observer::Observer;
pub(super) use path::Fault;
pub(super) use registered::{Programmed, Registered, Standing, WAITING};

/// What is registered, and how the API server reaches it.
#[derive(Clone, Debug)]
pub struct Registering {
    /// Of both configurations.
    pub name: String,
    pub address: Address,
    /// PEM file with the authority of the server's certificate. Without one `caBundle` is left to others.
    pub authority: Option<PathBuf>,
}
