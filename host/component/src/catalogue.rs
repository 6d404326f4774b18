//! What can be called: every loaded plugin, by name, and the gate's questions about them.
//!
//! A set of plugins never changes. Loading anew makes another set, and [`crate::Hands`] takes it in one move:
//! a call sees one set from its admission to its end, or is told that the component is another.

use crate::artifact::Artifact;
use crate::engine::Engine;
use crate::load_error::LoadError;
use crate::offer::{Ready, ReadyTool};
use crate::plugin::Loaded;
use event::{Handle, PluginGranted, Route};
use gate::{Catalogue, GUARDS_MAX, GuardSpec, ModelSpec, Resource, ToolSpec, Touches};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A set of plugins that can be called.
#[derive(Default)]
pub struct Plugins {
    loaded: BTreeMap<String, Arc<Loaded>>,
    tools: BTreeMap<String, Arc<ReadyTool>>,
    models: BTreeMap<String, Arc<ModelSpec>>,
    /// Tools of components that were revoked: policies may name them, and nobody can call them.
    revoked: BTreeMap<String, Arc<ToolSpec>>,
}

/// A plugin that is wanted in a set.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its file.
    pub artifact: Artifact,
    /// What it was granted; without, it can be called and reaches nothing.
    pub grant: Option<PluginGranted>,
}

impl Plugins {
    /// Loads the plugins that are wanted.
    ///
    /// # Errors
    /// The first plugin that does not load, or that offers what another offers.
    pub async fn of(engine: &Engine, wanted: Vec<Wanted>) -> Result<Self, LoadError> {
        Self::default().changed(engine, |_| false, wanted).await
    }

    /// Those of these plugins that `keep` says, and those that are wanted. One that is wanted and here already, from
    /// the same component and with the same grant, is taken from here: nothing is compiled or asked again.
    ///
    /// # Errors
    /// As [`Plugins::of`].
    pub async fn changed(
        &self,
        engine: &Engine,
        keep: impl Fn(&Loaded) -> bool,
        wanted: Vec<Wanted>,
    ) -> Result<Self, LoadError> {
        let mut plugins = Self::default();
        for kept in self.loaded.values().filter(|loaded| keep(loaded)) {
            plugins.add(kept.clone())?;
        }
        for Wanted { artifact, grant } in wanted {
            let known = self.loaded.get(&artifact.manifest.name);
            match known.filter(|known| known.is(&artifact, grant.as_ref())) {
                Some(known) => plugins.add(known.clone())?,
                None => plugins.add(Arc::new(Loaded::of(engine, artifact, grant.as_ref()).await?))?,
            }
        }
        Ok(plugins)
    }

    /// The same, and policies may name these tools, which nobody can call: those of components that were revoked. One
    /// that is offered by a loaded plugin stays that plugin's.
    #[must_use]
    pub fn with_revoked(mut self, tools: impl IntoIterator<Item = Arc<ToolSpec>>) -> Self {
        let tools = tools.into_iter().filter(|tool| !self.tools.contains_key(&tool.name));
        self.revoked = tools.map(|tool| (tool.name.clone(), tool)).collect();
        self
    }

    /// Loads the plugins in `files`, each with the grant that bears its name. One without a grant can be called
    /// and reaches nothing; a grant for a plugin that is not here waits for it.
    ///
    /// # Errors
    /// The first plugin that does not load, or that offers what another offers.
    pub async fn load(
        engine: &Engine,
        files: &[PathBuf],
        grants: &BTreeMap<String, PluginGranted>,
    ) -> Result<Self, LoadError> {
        let mut plugins = Self::default();
        for path in files {
            plugins.add(Arc::new(Loaded::from_file(engine, path, grants).await?))?;
        }
        Ok(plugins)
    }

    /// Whether both are the same plugins, loaded once.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Loaded>, &Arc<Loaded>)| Arc::ptr_eq(a, b);
        self.loaded.len() == other.loaded.len()
            && self.loaded.values().zip(other.loaded.values()).all(same)
            && self.revoked.keys().eq(other.revoked.keys())
    }

    /// The plugins, in order of name.
    pub fn loaded(&self) -> impl Iterator<Item = &Arc<Loaded>> {
        self.loaded.values()
    }

    /// One plugin.
    #[must_use]
    pub fn get(&self, plugin: &str) -> Option<&Arc<Loaded>> {
        self.loaded.get(plugin)
    }

    /// The guards, in order of name.
    #[must_use]
    pub fn guards(&self) -> Vec<GuardSpec> {
        let specs = self.loaded.values().filter_map(|loaded| match &loaded.ready {
            Ready::Guard { spec, .. } => Some(spec.as_ref().clone()),
            Ready::Tool { .. } | Ready::Plain { .. } | Ready::Model { .. } => None,
        });
        specs.collect()
    }

    fn add(&mut self, loaded: Arc<Loaded>) -> Result<(), LoadError> {
        let plugin = loaded.manifest().name.clone();
        let twice = |name: &str, first: &str| LoadError::Twice {
            name: name.to_owned(),
            first: first.to_owned(),
            second: plugin.clone(),
        };
        if let Some(first) = self.loaded.get(&plugin) {
            return Err(twice(&plugin, &format!("{}@{}", plugin, first.digest().short())));
        }
        match &loaded.ready {
            Ready::Tool { .. } | Ready::Plain { .. } => {
                for (name, tool) in loaded.ready.tools() {
                    if let Some(first) = self.tools.insert(name.clone(), tool.clone()) {
                        return Err(twice(name, &first.spec.plugin));
                    }
                }
            }
            // A model's full name starts with its plugin's, which is there once.
            Ready::Model { models, .. } => {
                self.models.extend(models.iter().map(|model| (model.name.clone(), model.clone())));
            }
            Ready::Guard { .. } if self.guards().len() >= GUARDS_MAX => {
                return Err(LoadError::TooManyGuards { max: GUARDS_MAX });
            }
            Ready::Guard { .. } => {}
        }
        self.loaded.insert(plugin, loaded);
        Ok(())
    }
}

impl Catalogue for Plugins {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        self.tools.values().map(|tool| tool.spec.clone()).collect()
    }

    fn models(&self) -> Vec<Arc<ModelSpec>> {
        self.models.values().cloned().collect()
    }

    fn named(&self) -> Vec<Arc<ToolSpec>> {
        let mut all = self.revoked.clone();
        all.extend(self.tools.iter().map(|(name, tool)| (name.clone(), tool.spec.clone())));
        all.into_values().collect()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.tools.get(name).map(|tool| tool.spec.clone())
    }

    fn model(&self, name: &str) -> Option<Arc<ModelSpec>> {
        self.models.get(name).cloned()
    }

    fn routes(&self, plugin: &str) -> Vec<Route> {
        self.loaded.get(plugin).map(|loaded| loaded.routes.to_vec()).unwrap_or_default()
    }

    fn handles(&self, tool: &str) -> Vec<Handle> {
        let plugin = self.tools.get(tool).map(|ready| &ready.spec.plugin);
        let loaded = plugin.and_then(|plugin| self.loaded.get(plugin));
        loaded.map(|loaded| loaded.handles(tool)).unwrap_or_default()
    }

    fn resource(&self, tool: &ToolSpec, input: &Value) -> Result<Resource, String> {
        touched(tool, input, &self.routes(&tool.plugin))
    }

    fn check_input(&self, tool: &ToolSpec, input: &Value) -> Result<(), String> {
        let ready = self.tools.get(&tool.name).filter(|ready| ready.spec.digest == tool.digest);
        let ready = ready.ok_or_else(|| {
            format!("`{}` is not here any more in the form that was asked about", tool.name)
        })?;
        ready
            .input
            .check(input)
            .map_err(|reason| format!("the input of `{}` does not fit: {reason}", tool.name))
    }
}

/// What a call of `tool` with `input` touches, by the pointers of its manifest.
fn touched(tool: &ToolSpec, input: &Value, routes: &[Route]) -> Result<Resource, String> {
    match &tool.touches {
        Touches::Plugin => Ok(Resource::Plugin(tool.plugin.clone())),
        Touches::OriginOf(pointer) => origin_of(text_at(tool, input, pointer)?, routes)
            .map_err(|reason| format!("`{pointer}` of `{}` cannot be reached: {reason}", tool.name)),
        Touches::Destination(pointers) => {
            let parts: Result<Vec<&str>, String> =
                pointers.iter().map(|pointer| text_at(tool, input, pointer)).collect();
            Ok(Resource::Destination(parts?.join(":")))
        }
    }
}

fn text_at<'i>(tool: &ToolSpec, input: &'i Value, pointer: &str) -> Result<&'i str, String> {
    let text = input.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("`{}` needs a text at `{pointer}`: it says what the call touches", tool.name))
}

/// The origin in its normal form. Loopback is reached where the operator granted it, and named nowhere else; the
/// way out has a list of its own.
fn origin_of(url: &str, routes: &[Route]) -> Result<Resource, String> {
    let granted: Vec<egress::Origin> =
        routes.iter().filter_map(|route| egress::Origin::parse(&route.origin).ok()).collect();
    let loopback: Vec<egress::Origin> =
        granted.iter().filter(|origin| origin.names_loopback()).cloned().collect();
    let target = egress::judge_url(url, &loopback).map_err(|error| error.to_string())?;
    let origin = target.origin();
    Ok(Resource::Origin { origin: origin.to_string(), granted: granted.contains(origin) })
}

#[cfg(test)]
mod tests {
    use super::touched;
    use event::{Digest, Route};
    use gate::{EffectClass, Resource, ToolSpec, Touches};
    use serde_json::{Value, json};

    fn route(origin: &str) -> Route {
        Route {
            methods: vec!["GET".to_owned()],
            origin: origin.to_owned(),
            path: event::RoutePath::every(),
            credential: None,
        }
    }

    fn asked(touches: Touches, input: &Value) -> Result<Resource, String> {
        let tool = ToolSpec {
            name: "web.fetch".to_owned(),
            plugin: "web".to_owned(),
            digest: Digest::of(b"web"),
            description: String::new(),
            input_schema: Value::Null,
            output_schema: Value::Null,
            effect: EffectClass::Read,
            touches,
            price_key: None,
            exact: false,
            recall: false,
        };
        touched(&tool, input, &[route("https://api.example.com"), route("http://127.0.0.1:8080")])
    }

    fn origin(url: &str) -> Result<(String, bool), String> {
        match asked(Touches::OriginOf("/url".to_owned()), &json!({"url": url}))? {
            Resource::Origin { origin, granted } => Ok((origin, granted)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_origin_is_named_in_its_normal_form_and_is_granted_only_whole() {
        assert_eq!(
            origin("https://API.example.com:443/a?b"),
            Ok(("https://api.example.com".to_owned(), true))
        );
        assert_eq!(
            origin("https://api.example.com:8443/"),
            Ok(("https://api.example.com:8443".to_owned(), false))
        );
        assert_eq!(
            origin("https://intranet.example.com/"),
            Ok(("https://intranet.example.com".to_owned(), false))
        );
        assert_eq!(origin("http://127.0.0.1:8080/page"), Ok(("http://127.0.0.1:8080".to_owned(), true)));
    }

    #[test]
    fn an_address_that_may_never_be_reached_is_a_sentence() {
        for url in [
            "http://127.0.0.1:8081/",
            "http://api.example.com/",
            "https://api.example.com@evil.test/",
            "ftp://a.test",
            "x",
        ] {
            let reason = origin(url).unwrap_err();
            assert!(reason.starts_with("`/url` of `web.fetch` cannot be reached: "), "{reason}");
        }
    }

    #[test]
    fn a_destination_is_made_of_every_text_its_manifest_points_at() {
        let touches = || Touches::Destination(vec!["/channel".to_owned(), "/thread".to_owned()]);
        let found = asked(touches(), &json!({"channel": "C01", "thread": "1.2"}));
        assert_eq!(found, Ok(Resource::Destination("C01:1.2".to_owned())));
        for input in [
            json!({"channel": "C01"}),
            json!({"channel": "C01", "thread": 1.2}),
            json!({"channel": "", "thread": "1"}),
        ] {
            assert!(asked(touches(), &input).unwrap_err().contains("needs a text at"), "{input}");
        }
    }

    #[test]
    fn a_tool_that_touches_nothing_touches_its_plugin() {
        assert_eq!(asked(Touches::Plugin, &json!({})), Ok(Resource::Plugin("web".to_owned())));
    }
}
