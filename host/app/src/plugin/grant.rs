//! What a plugin may reach: granting it, and taking it back.
//!
//! Always holds: what is granted was asked for; a component that was revoked for good is granted nothing, which the
//! record itself refuses.

use super::args::GrantArgs;
use super::change::{fits, relock, state};
use super::store::{Component, Store};
use super::{load, signature, stream, tell};
use crate::config::{Config, RouteConfig};
use crate::owner::{Acting, print_stated};
use crate::seat::ActArgs;
use crate::{seed, wire};
use anyhow::{Context, Result, bail, ensure};
use component::Wanted;
use event::{ComponentRevoked, Fact, Handle, PluginGranted, PluginInstalled, PluginRevoked, Route};
use fold::plugin as rules;
use fold::setting;
use record::RowKey;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// What is to be granted.
pub struct Granting {
    /// These ways out; nothing for all that were asked for and name an origin.
    pub routes: Option<Vec<Route>>,
    /// These handles; nothing for all that were asked for.
    pub handles: Option<Vec<Handle>>,
    /// Settings beside those it has.
    pub settings: BTreeMap<String, Value>,
    /// Why.
    pub reason: String,
}

impl Granting {
    /// All that was asked for.
    #[must_use]
    pub fn whole(reason: String) -> Self {
        Self { routes: None, handles: None, settings: BTreeMap::new(), reason }
    }
}

/// The grant for `version`. What the one before held and is still asked for stays, unless routes are named.
///
/// # Errors
/// The first route that was not asked for.
pub fn granting(
    version: &PluginInstalled,
    before: Option<&PluginGranted>,
    wish: &Granting,
) -> Result<PluginGranted> {
    let asked_of = |route: &Route| rules::asked_of(&version.asks, route);
    let routes = match &wish.routes {
        Some(routes) => {
            if let Some(route) = routes.iter().find(|route| asked_of(route).is_empty()) {
                bail!(
                    "`{}` does not ask for {}, and nothing is granted that was not asked for; it asks for {}",
                    version.plugin,
                    rules::told(route),
                    tell::listed(&version.asks)
                );
            }
            routes.iter().flat_map(asked_of).collect()
        }
        None => {
            let held = before.map(|granted| granted.routes.as_slice()).unwrap_or_default();
            let mut routes: Vec<Route> = held.iter().flat_map(asked_of).collect();
            let named = version.asks.iter().filter(|asked| !rules::names_no_origin(asked));
            routes.extend(named.filter(|asked| !routes.contains(asked)).cloned().collect::<Vec<_>>());
            routes
        }
    };
    let handles = wish.handles.clone().unwrap_or_else(|| version.handles.clone());
    if let Some(handle) = handles.iter().find(|handle| !version.handles.contains(handle)) {
        bail!("`{}` does not ask for the handle `{}`", version.plugin, handle.word());
    }
    let mut settings = before.map(|granted| granted.settings.clone()).unwrap_or_default();
    settings.extend(wish.settings.clone());
    Ok(PluginGranted {
        plugin: version.plugin.clone(),
        digest: version.digest.clone(),
        routes,
        settings,
        directories: before.map(|granted| granted.directories.clone()).unwrap_or_default(),
        handles,
        reason: wish.reason.clone(),
    })
}

/// Grants a plugin what it asks for, and lets a version in that waits.
///
/// # Errors
/// Why not, and what to do next.
pub async fn grant(config: &Config, args: GrantArgs) -> Result<ExitCode> {
    if config.plugins.iter().any(|plugin| plugin.name == args.plugin) {
        return grant_configured(config, args).await;
    }
    let wish = Granting {
        routes: if args.routes.is_empty() { None } else { Some(routes(&args.routes)?) },
        handles: if args.handles.is_empty() { None } else { Some(args.handles) },
        settings: settings(&args.settings)?,
        reason: args.reason,
    };
    let acting = Acting::open(config, args.act.as_seat).await?;
    let one = load::one_recorded(&acting.record, &args.plugin)
        .await?
        .with_context(|| format!("no plugin `{}` is installed or configured", args.plugin.escape_debug()))?;
    let waits = one.waiting.map(|waiting| waiting.version);
    let version = waits.unwrap_or_else(|| one.installed.clone());
    let granted = granting(&version, one.granted.as_ref(), &wish)?;
    for credential in granted.routes.iter().filter_map(|route| route.credential.as_ref()) {
        if !config.credentials.contains_key(credential) {
            println!(
                "note: `[credentials]` has no `{credential}`: until it does, requests that need it are refused"
            );
        }
    }
    if wish.routes.is_none() {
        for route in version.asks.iter().filter(|route| rules::names_no_origin(route)) {
            println!("note: it asks for any site that is named; name each with {}", rules::to_name(route));
        }
    }
    let Component { artifact, signature } = Store::of(config).component(&args.plugin, &version.digest)?;
    let named = format!("the component {} of `{}`", version.digest.short(), args.plugin);
    signature::check(&config.installs, &named, artifact.bytes(), signature.as_deref())?;
    fits(config, &acting.record, &args.plugin, Some(Wanted { artifact, grant: Some(granted.clone()) }))
        .await?;
    if version.digest != one.installed.digest {
        state(config, &acting, Some(one.installed.digest), version, Some(granted)).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let plugin = args.plugin;
    let key = setting::plugin(&plugin);
    let stated = acting.state(vec![RowKey::new("setting", key.clone())], move |rows, _| {
        let now: Option<PluginInstalled> = rows.state("setting", &key);
        ensure!(
            now.is_some_and(|now| now.digest == granted.digest),
            "`{plugin}` became another meanwhile: try again"
        );
        Ok(vec![(stream(&plugin), Fact::from(granted))])
    });
    print_stated(&stated.await?);
    relock(config, &acting.record).await?;
    Ok(ExitCode::SUCCESS)
}

async fn grant_configured(config: &Config, args: GrantArgs) -> Result<ExitCode> {
    let plugin = args.plugin;
    ensure!(
        args.routes.is_empty() && args.handles.is_empty() && args.settings.is_empty(),
        "`{plugin}` is a plugin of the configuration, which says what it is granted: change its [[plugin]] there"
    );
    let mut installed = wire::install(config).await?;
    let granted = installed.grants.remove(&plugin).with_context(|| {
        format!("the component of `{plugin}` was revoked: name another version in the configuration")
    })?;
    let granted = PluginGranted { reason: args.reason, ..granted };
    let acting = Acting::open(config, args.act.as_seat).await?;
    let stated = acting.state(Vec::new(), move |_, _| Ok(vec![(stream(&plugin), Fact::from(granted))]));
    print_stated(&stated.await?);
    Ok(ExitCode::SUCCESS)
}

/// Takes back what a plugin was granted, and with `for_good` its component.
///
/// # Errors
/// When there is nothing to take back.
pub async fn revoke(
    config: &Config,
    plugin: String,
    reason: String,
    for_good: bool,
    act: ActArgs,
) -> Result<ExitCode> {
    let acting = Acting::open(config, act.as_seat).await?;
    let (grant, installed) = (setting::grant(&plugin), setting::plugin(&plugin));
    let reads = [&grant, &installed].map(|key| RowKey::new("setting", key.clone())).to_vec();
    let stated = acting.state(reads, move |rows, _| {
        let held = rows.state::<PluginGranted>("setting", &grant).is_some();
        let component: Option<PluginInstalled> = rows.state("setting", &installed);
        let mut facts = Vec::new();
        match component.filter(|_| for_good) {
            Some(component) => {
                let (digest, plugin, reason) = (component.digest, plugin.clone(), reason.clone());
                facts.push(Fact::from(ComponentRevoked { digest, plugin, reason }));
            }
            None if for_good => bail!("no plugin `{}` is installed", plugin.escape_debug()),
            None if !held => bail!(
                "the record holds no grant for `{}`; `chancery plugin list` shows each",
                plugin.escape_debug()
            ),
            None => {}
        }
        let stream = stream(&plugin);
        if held {
            facts.push(Fact::from(PluginRevoked { plugin, reason }));
        }
        Ok(facts.into_iter().map(|fact| (stream.clone(), fact)).collect())
    });
    print_stated(&stated.await?);
    match for_good {
        true => println!("none of its tools can be called from now on; another version can be installed"),
        false => println!("it reaches nothing from its next call on, and a start does not grant it again"),
    }
    relock(config, &acting.record).await?;
    Ok(ExitCode::SUCCESS)
}

fn routes(texts: &[String]) -> Result<Vec<Route>> {
    texts
        .iter()
        .map(|text| route(text).with_context(|| format!("--route '{}'", text.escape_debug())))
        .collect()
}

/// `GET,HEAD https://a.example/path credential`.
fn route(text: &str) -> Result<Route> {
    let mut words = text.split_whitespace();
    let (Some(methods), Some(address), credential, None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        bail!(
            "it is written 'GET,HEAD https://a.example/path CREDENTIAL', path and credential as far as there are any"
        );
    };
    let host = address.find("://").map_or(0, |at| at + 3);
    let path = address.get(host..).and_then(|rest| rest.find('/')).map_or(address.len(), |at| host + at);
    let (origin, path) = address.split_at(path);
    seed::route(&RouteConfig {
        methods: methods.split([',', '/', '|']).map(str::to_owned).collect(),
        origin: origin.to_owned(),
        path: None,
        path_prefix: Some(path.to_owned()).filter(|path| !path.is_empty()),
        credential: credential.map(str::to_owned),
    })
}

fn settings(texts: &[String]) -> Result<BTreeMap<String, Value>> {
    let one = |text: &String| {
        let (key, value) = text
            .split_once('=')
            .with_context(|| format!("--setting '{}' is not written key=value", text.escape_debug()))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok((key.to_owned(), value))
    };
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{Granting, granting, route};
    use event::{Digest, PluginInstalled, Route, RoutePath};
    use std::collections::BTreeMap;

    fn version(asks: &[&str]) -> PluginInstalled {
        PluginInstalled {
            plugin: "shelf".to_owned(),
            version: "1".to_owned(),
            digest: Digest::of(b"1"),
            world: "tool".to_owned(),
            tools: Vec::new(),
            offers: Vec::new(),
            source: "shelf.wasm".to_owned(),
            asks: asks.iter().map(|text| asked(text)).collect(),
            imports: Vec::new(),
            directories: Vec::new(),
            graphql_reads: Vec::new(),
            signed_by: None,
            handles: Vec::new(),
        }
    }

    fn asked(text: &str) -> Route {
        match text.strip_prefix("GET *") {
            Some(path) => {
                Route { origin: "*".to_owned(), ..route(&format!("GET https://a.example{path}")).unwrap() }
            }
            None => route(text).unwrap(),
        }
    }

    fn wish(routes: &[&str]) -> Granting {
        let routes = Some(routes.iter().map(|text| route(text).unwrap()).collect());
        Granting { routes, handles: None, settings: BTreeMap::new(), reason: String::new() }
    }

    #[test]
    fn a_route_is_written_on_one_line() {
        let read = route("get,HEAD https://a.example/v1 a.key").unwrap();
        assert_eq!(
            (read.methods.join("/").as_str(), read.origin.as_str()),
            ("GET/HEAD", "https://a.example")
        );
        assert_eq!((read.path.text(), read.credential.as_deref()), ("/v1", Some("a.key")));
        assert_eq!(route("GET https://a.example").unwrap().path, RoutePath::every());
        for wrong in ["", "GET", "GET a.example", "GET https://a.example k more", "BREW https://a.example"] {
            assert!(route(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_not_asked_for_is_not_granted() {
        let asks = version(&["GET https://a.example/v1", "GET */"]);
        for granted in ["GET https://a.example/v1/books", "GET https://b.example/"] {
            assert!(granting(&asks, None, &wish(&[granted])).is_ok(), "{granted}");
        }
        let narrow = version(&["GET https://a.example/v1"]);
        for refused in [
            "POST https://a.example/v1",
            "GET https://a.example/",
            "GET https://b.example/v1",
            "GET https://a.example/v1 k",
        ] {
            let error = granting(&narrow, None, &wish(&[refused])).unwrap_err().to_string();
            assert!(error.contains("it asks for GET https://a.example/v1"), "{error}");
        }
    }

    #[test]
    fn a_path_that_is_asked_for_as_a_whole_is_granted_as_a_whole() {
        let whole = |path: &str| Route { path: RoutePath::Whole(path.to_owned()), ..asked("GET */") };
        let version =
            PluginInstalled { asks: vec![whole("/me/drafts"), whole("/me/drafts/*")], ..version(&[]) };
        let paths = |wished: &str| -> Vec<String> {
            let granted = granting(&version, None, &wish(&[wished])).unwrap();
            assert!(granted.routes.iter().all(|route| route.origin == "https://a.example"));
            granted.routes.iter().map(|route| format!("{:?}", route.path)).collect()
        };
        assert_eq!(paths("GET https://a.example/me/drafts/*"), ["Whole(\"/me/drafts/*\")"]);
        assert_eq!(
            paths("GET https://a.example/me/drafts").len(),
            2,
            "of what lies below, what was asked for"
        );
        for refused in [
            "POST https://a.example/me/drafts",
            "GET https://a.example/me/draft",
            "GET https://a.example/you",
        ] {
            assert!(granting(&version, None, &wish(&[refused])).is_err(), "{refused}");
        }
        let held =
            granting(&self::version(&["GET */me"]), None, &wish(&["GET https://a.example/me"])).unwrap();
        let after = granting(&version, Some(&held), &Granting::whole(String::new())).unwrap();
        assert_eq!(after.routes.len(), 2, "what was held wider is held as it is asked for now");
    }

    #[test]
    fn without_routes_all_that_names_an_origin_is_granted_and_what_was_held_stays() {
        let asks = version(&["GET https://a.example/v1", "GET */"]);
        let first = granting(&asks, None, &Granting::whole(String::new())).unwrap();
        assert_eq!(first.routes, [route("GET https://a.example/v1").unwrap()]);
        let named = granting(&asks, None, &wish(&["GET https://b.example/"])).unwrap();
        let next = granting(&asks, Some(&named), &Granting::whole(String::new())).unwrap();
        assert_eq!(next.routes.len(), 2);
        let less = version(&["GET https://a.example/v1"]);
        let after = granting(&less, Some(&next), &Granting::whole(String::new())).unwrap();
        assert_eq!(after.routes, [route("GET https://a.example/v1").unwrap()]);
    }
}
