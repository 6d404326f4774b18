//! Installations of the office in workspaces of a connected service, as facts. No token is ever part of one.

use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// Somebody installed the office in a workspace, over the service's own pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionInstalled {
    /// The service, such as `slack`.
    pub source: String,
    /// The workspace, `T…`.
    pub team: String,
    /// The app that was installed, `A…`; empty when the service named none.
    pub app: String,
    /// Who installed it, by the service's id, `U…`; it gives them nothing.
    pub by: String,
    /// What was granted, in order.
    pub scopes: Vec<String>,
    /// When the token ends; nothing when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The token of a workspace was exchanged for the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRenewed {
    /// The service.
    pub source: String,
    /// The workspace.
    pub team: String,
    /// When the new token ends; nothing when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The office is no longer in a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionEnded {
    /// The service.
    pub source: String,
    /// The workspace.
    pub team: String,
    /// Why, in one sentence.
    pub reason: String,
}
