//! The price list as a file: US dollars as strings, every mistake with file, line and column.

use crate::config::placed;
use crate::config::purse::Currency;
use crate::seed::{Wanted, read_text};
use anyhow::Result;
use event::{LongContext, NanoUsd, Price, PricesListed};
use fold::setting;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    #[serde(default, rename = "currency")]
    _currency: Option<Currency>,
    price: BTreeMap<String, PriceEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    input_per_mtok: Option<Dollars>,
    cached_input_per_mtok: Option<Dollars>,
    cache_write_per_mtok: Option<Dollars>,
    output_per_mtok: Option<Dollars>,
    per_call: Option<Dollars>,
    per_second: Option<Dollars>,
    long_context: Option<LongEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongEntry {
    above_input_tokens: Threshold,
    input_per_mtok: Option<Dollars>,
    cached_input_per_mtok: Option<Dollars>,
    cache_write_per_mtok: Option<Dollars>,
    output_per_mtok: Option<Dollars>,
}

struct Dollars(NanoUsd);

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || {
            serde::de::Error::custom(format!(
                "`{}` is no amount: write US dollars as digits, such as \"2.50\", with at most nine decimals",
                text.escape_debug()
            ))
        };
        NanoUsd::from_dollars(&text).map(Self).ok_or_else(wrong)
    }
}

struct Threshold(u64);

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            0 => Err(serde::de::Error::custom("a long context begins above some input: at least 1 token")),
            tokens => Ok(Self(tokens)),
        }
    }
}

impl From<PriceEntry> for Price {
    fn from(entry: PriceEntry) -> Self {
        let amount = |dollars: Option<Dollars>| dollars.map(|dollars| dollars.0);
        Self {
            input_per_mtok: amount(entry.input_per_mtok),
            cached_input_per_mtok: amount(entry.cached_input_per_mtok),
            cache_write_per_mtok: amount(entry.cache_write_per_mtok),
            output_per_mtok: amount(entry.output_per_mtok),
            per_call: amount(entry.per_call),
            per_second: amount(entry.per_second),
            long_context: entry.long_context.map(|long| LongContext {
                above_input_tokens: long.above_input_tokens.0,
                input_per_mtok: amount(long.input_per_mtok),
                cached_input_per_mtok: amount(long.cached_input_per_mtok),
                cache_write_per_mtok: amount(long.cache_write_per_mtok),
                output_per_mtok: amount(long.output_per_mtok),
            }),
        }
    }
}

/// The price list in `path`, named by what it says and not by how it is written.
///
/// # Errors
/// One line that names the file and the place.
pub fn read(path: &Path) -> Result<Wanted> {
    let listed = parse(path, &read_text(path)?)?;
    Ok(Wanted::new(setting::PRICES.to_owned(), "prices", "office", listed))
}

fn parse(path: &Path, text: &str) -> Result<PricesListed> {
    let file: PriceFile = toml::from_str(text).map_err(|error| placed(path, text, &error))?;
    let prices: BTreeMap<String, Price> =
        file.price.into_iter().map(|(key, entry)| (key, entry.into())).collect();
    if let Some((key, _)) = prices.iter().find(|(_, price)| sells_nothing(price)) {
        anyhow::bail!(
            "{}: the price of `{}` sells nothing: name an amount",
            path.display(),
            key.escape_debug()
        );
    }
    // Amounts are strings and thresholds small integers: always expressible.
    let body = serde_json::to_value(&prices).unwrap_or_default();
    Ok(PricesListed { digest: event::canon::canonical_digest(&body), prices })
}

fn sells_nothing(price: &Price) -> bool {
    let Price { input_per_mtok, cached_input_per_mtok, output_per_mtok, per_call, per_second, .. } = price;
    [input_per_mtok, cached_input_per_mtok, output_per_mtok, per_call, per_second]
        .iter()
        .all(|amount| amount.is_none())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use event::NanoUsd;
    use std::path::Path;

    fn error(text: &str) -> String {
        parse(Path::new("prices.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn every_kind_of_price_is_read() {
        let text = r#"
            currency = "USD"
            [price."big/model"]
            input_per_mtok = "3"
            output_per_mtok = "15"
            per_call = "0.01"
            [price."big/model".long_context]
            above_input_tokens = 200000
            input_per_mtok = "6"
            output_per_mtok = "22.5"
            [price."video.render"]
            per_second = "0.000000001"
        "#;
        let listed = parse(Path::new("prices.toml"), text).unwrap();
        let big = &listed.prices["big/model"];
        assert_eq!(big.per_call, Some(NanoUsd(10_000_000)));
        assert_eq!(big.cached_input_per_mtok, None);
        let long = big.long_context.as_ref().unwrap();
        assert_eq!((long.above_input_tokens, long.output_per_mtok), (200_000, Some(NanoUsd(22_500_000_000))));
        assert_eq!(listed.prices["video.render"].per_second, Some(NanoUsd(1)));
        // Another comment is the same list, another amount is another.
        let commented = parse(Path::new("p"), &format!("# note\n{text}")).unwrap();
        assert_eq!(commented.digest, listed.digest);
        assert_ne!(parse(Path::new("p"), &text.replace("\"3\"", "\"4\"")).unwrap().digest, listed.digest);
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        let price = "[price.\"m\"]\n";
        for (text, said) in [
            ("currency = \"EUR\"\n[price.m]\nper_call = \"1\"\n".to_owned(), "prices.toml:1:12: `EUR`"),
            (format!("{price}per_call = \"1,50\"\n"), "prices.toml:2:12: `1,50`"),
            (format!("{price}per_call = \"-1\"\n"), "prices.toml:2:12: `-1`"),
            (format!("{price}per_call = 1.5\n"), "prices.toml:2:12: "),
            (format!("{price}per_cal = \"1\"\n"), "prices.toml:2:1: unknown field `per_cal`"),
            (
                format!("{price}per_call = \"1\"\nlong_context = {{ above_input_tokens = 0 }}\n"),
                "prices.toml:3:39: a long context",
            ),
            (price.to_owned(), "prices.toml: the price of `m` sells nothing"),
        ] {
            let error = error(&text);
            assert!(error.starts_with(said) && !error.contains('\n'), "{error}");
        }
    }
}
