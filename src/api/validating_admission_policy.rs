//! `ValidatingAdmissionPolicy` and its binding, as the Kubernetes API defines them. The versions v1beta1 and v1alpha1
//! have the same fields; the manifest loader reads them as v1.

pub use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
