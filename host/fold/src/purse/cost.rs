//! What use costs, by one price; and what a call costs at most. Amounts are rounded up to a nano-dollar.

use event::{NanoUsd, Price, Usage};

/// Tokens that a million is made of: prices are for a million.
const MTOK: i128 = 1_000_000;

/// What a million tokens of each kind cost.
#[derive(Clone, Copy)]
struct Rates {
    input: Option<NanoUsd>,
    cached: Option<NanoUsd>,
    written: Option<NanoUsd>,
    output: Option<NanoUsd>,
}

impl Rates {
    fn usual(price: &Price) -> Self {
        let (input, output) = (price.input_per_mtok, price.output_per_mtok);
        let (cached, written) = (price.cached_input_per_mtok.or(input), price.cache_write_per_mtok.or(input));
        Self { input, cached, written, output }
    }

    /// Those of a call with so much input.
    fn of(price: &Price, input_tokens: u64) -> Self {
        match &price.long_context {
            Some(long) if input_tokens > long.above_input_tokens => Self::long(long),
            _ => Self::usual(price),
        }
    }

    fn long(long: &event::LongContext) -> Self {
        let (input, output) = (long.input_per_mtok, long.output_per_mtok);
        let (cached, written) = (long.cached_input_per_mtok.or(input), long.cache_write_per_mtok.or(input));
        Self { input, cached, written, output }
    }

    /// The same where nobody knows what the provider reads from its cache or writes there: every input token at the
    /// dearest price.
    fn dearest(self) -> Self {
        let others = [self.cached, self.written].into_iter().flatten();
        Self { input: self.input.map(|input| others.fold(input, NanoUsd::max)), ..self }
    }

    fn tokens(self, usage: Usage) -> Option<i128> {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        part(self.input, usage.input_tokens - cached - written)?
            .checked_add(part(self.cached, cached)?)?
            .checked_add(part(self.written, written)?)?
            .checked_add(part(self.output, usage.output_tokens)?)
    }
}

fn part(price: Option<NanoUsd>, tokens: u64) -> Option<i128> {
    match (price, tokens) {
        (_, 0) => Some(0),
        (Some(price), tokens) => {
            // Rounded up: a fraction of a nano-dollar is never given away.
            let amount = i128::from(price.0).checked_mul(i128::from(tokens))?.checked_add(MTOK - 1)?;
            Some(amount / MTOK)
        }
        (None, _) => None,
    }
}

/// What a call costs beside its tokens; nothing where the price sells neither calls nor seconds and no token was
/// used, since then nothing that happened has a price.
fn beside(price: &Price, usage: Usage, seconds: u64) -> Option<i128> {
    if price.per_call.is_none() && price.per_second.is_none() && usage == Usage::default() {
        return None;
    }
    let lasted = match price.per_second {
        Some(second) => i128::from(second.0).checked_mul(i128::from(seconds))?,
        None => 0,
    };
    lasted.checked_add(i128::from(price.per_call.unwrap_or(NanoUsd::ZERO).0))
}

fn sum(rates: Rates, price: &Price, usage: Usage, seconds: u64) -> Option<NanoUsd> {
    let sum = rates.tokens(usage)?.checked_add(beside(price, usage, seconds)?)?;
    i64::try_from(sum).ok().map(NanoUsd)
}

/// What `usage` over `seconds` costs; nothing when the list has no price for a kind that was used, or the sum does
/// not fit.
#[must_use]
pub fn cost(price: &Price, usage: Usage, seconds: u64) -> Option<NanoUsd> {
    sum(Rates::of(price, usage.input_tokens), price, usage, seconds)
}

/// What a call costs at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// How much.
    pub amount: NanoUsd,
    /// Whether the prices of a long context may come to hold.
    pub long_context: bool,
}

/// What a call costs at most: `usage` is what is expected at most, `input_tokens_max` what no input can exceed. Where
/// the latter crosses the threshold of a long context, the dearer of both prices counts.
#[must_use]
pub fn worst(price: &Price, usage: Usage, input_tokens_max: u64, seconds: u64) -> Option<Worst> {
    let reaches = input_tokens_max.max(usage.input_tokens);
    let long = price.long_context.as_ref().filter(|long| reaches > long.above_input_tokens);
    let mut amount = sum(Rates::usual(price).dearest(), price, usage, seconds)?;
    if let Some(long) = long {
        amount = amount.max(sum(Rates::long(long).dearest(), price, usage, seconds)?);
    }
    Some(Worst { amount, long_context: long.is_some() })
}

#[cfg(test)]
mod tests {
    use super::{cost, worst};
    use event::{LongContext, NanoUsd, Price, Usage};
    use proptest::prelude::*;

    fn used(input: u64, cached: u64, output: u64) -> Usage {
        Usage { input_tokens: input, cached_input_tokens: cached, output_tokens: output, ..Usage::default() }
    }

    fn usd(dollars: i64) -> Option<NanoUsd> {
        Some(NanoUsd(dollars * 1_000_000_000))
    }

    fn tiered() -> Price {
        Price {
            input_per_mtok: usd(3),
            cached_input_per_mtok: Some(NanoUsd(300_000_000)),
            output_per_mtok: usd(15),
            long_context: Some(LongContext {
                above_input_tokens: 200_000,
                input_per_mtok: usd(6),
                cached_input_per_mtok: None,
                cache_write_per_mtok: None,
                output_per_mtok: usd(22),
            }),
            ..Price::default()
        }
    }

    #[test]
    fn a_kind_of_use_without_a_price_has_no_cost_rather_than_none() {
        let price = Price { input_per_mtok: Some(NanoUsd(1_000_000)), ..Price::default() };
        assert_eq!(cost(&price, used(3, 0, 0), 0), Some(NanoUsd(3)));
        assert_eq!(cost(&price, used(3, 0, 1), 0), None);
        assert_eq!(cost(&price, Usage::default(), 9), None, "neither calls nor seconds are sold");
    }

    #[test]
    fn a_call_and_its_seconds_have_prices_of_their_own() {
        let price = Price { per_call: Some(NanoUsd(7)), per_second: Some(NanoUsd(2)), ..Price::default() };
        assert_eq!(cost(&price, Usage::default(), 0), Some(NanoUsd(7)));
        assert_eq!(cost(&price, Usage::default(), 30), Some(NanoUsd(67)));
    }

    #[test]
    fn a_long_context_has_its_own_prices_for_the_whole_call() {
        let price = tiered();
        assert_eq!(cost(&price, used(200_000, 0, 0), 0), Some(NanoUsd(600_000_000)));
        assert_eq!(cost(&price, used(200_001, 0, 0), 0), Some(NanoUsd(1_200_006_000)));
        // 300,000 tokens in and 1,000 out: held at the first tier, five of these would go through where two fit.
        assert_eq!(cost(&price, used(300_000, 0, 1_000), 0), Some(NanoUsd(1_822_000_000)));
    }

    #[test]
    fn the_worst_case_counts_the_tier_that_the_input_may_reach() {
        let price = tiered();
        let low = worst(&price, used(150_000, 0, 1_000), 200_000, 0).unwrap();
        assert_eq!((low.amount, low.long_context), (NanoUsd(465_000_000), false));
        let high = worst(&price, used(150_000, 0, 1_000), 200_001, 0).unwrap();
        assert_eq!((high.amount, high.long_context), (NanoUsd(922_000_000), true));
    }

    #[test]
    fn the_worst_case_counts_a_cache_that_is_dearer_than_none() {
        let price = Price { cached_input_per_mtok: usd(4), long_context: None, ..tiered() };
        assert_eq!(worst(&price, used(1_000_000, 0, 0), 0, 0).unwrap().amount, NanoUsd(4_000_000_000));
    }

    #[test]
    fn what_is_written_to_a_cache_has_a_price_of_its_own_and_costs_as_input_where_it_has_none() {
        let usage = Usage { cache_write_tokens: 200_000, ..used(1_000_000, 500_000, 0) };
        let price = Price { long_context: None, cache_write_per_mtok: usd(5), ..tiered() };
        // 300,000 at 3, 500,000 at 0.30, 200,000 at 5.
        assert_eq!(cost(&price, usage, 0), Some(NanoUsd(900_000_000 + 150_000_000 + 1_000_000_000)));
        let plain = Price { cache_write_per_mtok: None, ..price.clone() };
        assert_eq!(cost(&plain, usage, 0), Some(NanoUsd(1_500_000_000 + 150_000_000)));
        assert_eq!(worst(&price, used(1_000_000, 0, 0), 0, 0).unwrap().amount, NanoUsd(5_000_000_000));
    }

    #[test]
    fn figures_beyond_all_money_have_no_cost_and_do_not_wrap() {
        for usage in [used(u64::MAX, 0, 0), used(0, 0, u64::MAX), used(u64::MAX, u64::MAX, u64::MAX)] {
            let dear = Price { input_per_mtok: Some(NanoUsd(i64::MAX)), ..tiered() };
            let dear = Price { output_per_mtok: Some(NanoUsd(i64::MAX)), long_context: None, ..dear };
            assert_eq!(cost(&dear, usage, 0), None);
        }
        let second = Price { per_second: Some(NanoUsd(i64::MAX)), ..Price::default() };
        assert_eq!(cost(&second, Usage::default(), u64::MAX), None);
    }

    proptest! {
        #[test]
        fn no_use_within_the_bounds_costs_more_than_the_worst_case(
            input in 0_u64..1_000_000, cached in 0_u64..1_000_000, written in 0_u64..1_000_000,
            output in 0_u64..100_000, more in 0_u64..500_000, seconds in 0_u64..200,
        ) {
            let price = Price {
                per_call: Some(NanoUsd(1)),
                per_second: Some(NanoUsd(5)),
                cache_write_per_mtok: usd(4),
                ..tiered()
            };
            let bound = used(input + more, 0, output);
            let worst = worst(&price, bound, bound.input_tokens, 200).unwrap();
            let usage = Usage { cache_write_tokens: written, ..used(input, cached.min(input), output) };
            let cost = cost(&price, usage, seconds).unwrap();
            prop_assert!(cost <= worst.amount);
        }

        #[test]
        fn cost_is_monotone(input in 0_u64..10_000_000, output in 0_u64..10_000_000, more in 0_u64..1_000_000) {
            let price = Price { per_call: Some(NanoUsd(1)), ..tiered() };
            let usage = used(input, input / 2, output);
            let larger = Usage { output_tokens: output + more, ..usage };
            prop_assert!(cost(&price, larger, 0) >= cost(&price, usage, 0));
        }
    }
}
