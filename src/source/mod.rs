//! Where rules come from: files in directories now, the watch of a cluster later. Both end in the same channel of
//! [`Change`]s; who reads it does not know the source.

mod change;
mod cluster;
mod directory;
mod feed;
mod manifest;
mod merge;
mod object;
mod object_store;
mod resolve;
mod schema;
mod suggest;
mod watch;
mod yaml;

pub use change::{Broken, Change, Snapshot};
pub use cluster::{
    ClusterOptions, ClusterSource, ConnectError, Connection, Resource, ResourceHealth, Told, WatchHealth,
};
pub use directory::{DirectorySource, is_manifest};
pub use feed::feed;
pub use manifest::{Document, MAX_FILE_BYTES, Manifest, read_manifest, read_values};
pub use merge::{Merge, Origin};
pub use object::{Loaded, Object, ObjectKey, decode};
pub use object_store::{ObjectStore, StoredObject};
pub use watch::{WatchOptions, watch};
