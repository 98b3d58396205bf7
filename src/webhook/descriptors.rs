//! File descriptors: never so many connections that there is none left for probes, certificates and rules.

/// For everything that is not a connection of the webhook server: listeners, runtimes, watches, files, the admin port.
const RESERVED: usize = 64;

/// How many of the connections that are wanted the process may have open.
pub(super) fn affordable(wanted: usize) -> usize {
    let limit = std::fs::read_to_string("/proc/self/limits").ok().and_then(|limits| soft_limit(&limits));
    limit.map_or(wanted, |limit| wanted.min(limit.saturating_sub(RESERVED).max(1)))
}

/// The soft limit of open files in the kernel's table; `None` when there is no limit.
fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                         Max processes             unlimited            unlimited            processes \n\
                         Max open files            1024                 1048576              files     \n";

    #[test]
    fn the_soft_limit_is_read_from_the_kernels_table() {
        assert_eq!(soft_limit(TABLE), Some(1024));
        assert_eq!(soft_limit(&TABLE.replace("1024 ", "unlimited ")), None);
        assert_eq!(soft_limit(""), None);
    }

    #[test]
    fn a_modest_wish_is_granted() {
        assert_eq!(affordable(1), 1);
    }
}
