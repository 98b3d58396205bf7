//! Usher, the admission router for Kubernetes.
