use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::RoutingRule;

/// The `CustomResourceDefinition` of [`RoutingRule`].
///
/// An optional field may be left out but not be null: `nullable` is taken away everywhere, so that `has(self.reject)`
/// in a validation means that there is a handler.
pub fn crd() -> CustomResourceDefinition {
    let mut crd = RoutingRule::crd();
    for version in &mut crd.spec.versions {
        if let Some(root) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            forbid_null(root);
        }
    }
    crd
}

/// [`crd`] as the text of `deploy/crd/usher.dev_routingrules.yaml`.
pub fn crd_yaml() -> Result<String, serde_saphyr::ser_error::Error> {
    let body = serde_saphyr::to_string(&crd())?;
    Ok(format!("# Generated from the types in src/api by `usher crd`. Do not edit.\n{body}"))
}

fn forbid_null(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    for property in schema.properties.iter_mut().flat_map(|p| p.values_mut()) {
        forbid_null(property);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        forbid_null(values);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => forbid_null(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(forbid_null),
        None => {}
    }
}
