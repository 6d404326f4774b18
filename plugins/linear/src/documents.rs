//! The documents of GraphQL that are sent, each whole and always the same: what differs goes in variables.
//!
//! Those that read stand in the manifest by their digest, and a tool that reads sends no other. They were held against
//! the schema that Linear publishes.

/// The teams, by which everything else is found.
pub const TEAMS: &str = "query Teams { teams(first: 100) { nodes { id key name } } }";

/// The issues of one team.
pub const ISSUES: &str = "query Issues($team: String!, $first: Int!, $after: String, $filter: IssueFilter) { team(id: $team) { issues(first: $first, after: $after, filter: $filter) { nodes { identifier title url priorityLabel createdAt updatedAt state { name type } assignee { displayName } labels(first: 20) { nodes { name } } } pageInfo { hasNextPage endCursor } } } }";

/// One issue, with the states of its team and its comments.
pub const ISSUE: &str = "query Issue($id: String!) { issue(id: $id) { id identifier title description url priorityLabel createdAt updatedAt state { id name type } assignee { displayName email } labels(first: 20) { nodes { name } } team { id key states(first: 100) { nodes { id name } } } comments(first: 50) { nodes { id body createdAt user { displayName } } } } }";

/// The issues of one team that are called the same: where one that was opened is found again.
pub const SAME_TITLE: &str = "query SameTitle($team: String!, $title: String!) { team(id: $team) { issues(first: 50, filter: { title: { eq: $title } }) { nodes { id identifier url description createdAt } } } }";

/// Who has this address.
pub const USERS: &str = "query Users($email: String!) { users(first: 2, filter: { email: { eq: $email } }) { nodes { id email } } }";

/// Opens an issue.
pub const ISSUE_CREATE: &str = "mutation IssueCreate($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id identifier url } } }";

/// Changes an issue.
pub const ISSUE_UPDATE: &str = "mutation IssueUpdate($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success issue { identifier url } } }";

/// Comments on an issue.
pub const COMMENT_CREATE: &str = "mutation CommentCreate($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id } } }";

/// Those that read.
#[cfg(test)]
pub const READS: [&str; 5] = [TEAMS, ISSUES, ISSUE, SAME_TITLE, USERS];
