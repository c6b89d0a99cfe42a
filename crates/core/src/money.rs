//! Computes money exactly: amounts in pico-dollars and prices in pico-dollars per token.
//!
//! A price of 0.01875 USD per million tokens is 18,750 pico-dollars per token, so every list price
//! is an integer here, and a sum over a million calls is exact to the last digit. No `f64` is
//! involved: prices are parsed from the digits as written.

use std::fmt;
use std::iter::Sum;
use std::num::NonZeroU32;
use std::ops::{Add, AddAssign, Mul};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The decimal places of a dollar that are kept.
const PLACES: usize = 12;
/// Pico-dollars in a dollar.
const DOLLAR: i128 = 10_i128.pow(12);
/// From USD per million tokens to pico-dollars per token: 12 places less the million.
const PER_MILLION: i64 = 6;
const PER_TOKEN: i64 = 12;

/// An amount of US dollars, in units of 10⁻¹² dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i128);

/// The price of one token, in units of 10⁻¹² dollars; shown in dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(i128);

/// The reason why a text is not an amount or a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotMoney {
    /// The text is not a number.
    #[error("not a number")]
    NotANumber,
    /// The number is negative.
    #[error("negative")]
    Negative,
    /// The number is too large.
    #[error("too large (are the units right?)")]
    TooLarge,
}

impl Usd {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Creates an amount from pico-dollars.
    pub const fn from_pico(pico: i128) -> Self {
        Self(pico)
    }

    /// Returns the amount in pico-dollars.
    pub const fn pico(self) -> i128 {
        self.0
    }

    /// Formats the amount for people: `$1,234.50`, `$0.42`, `$0.0042`, `<$0.0001`.
    ///
    /// Amounts below a cent have two more places, because costs per call are that small and `$0.00`
    /// reads as free; only zero is `$0.00`. Rounds half up.
    pub fn short(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let pico = self.0.unsigned_abs();
        let round = |unit: u128| pico.saturating_add(unit / 2) / unit;
        let (cents, hundredths) = (round(10_u128.pow(10)), round(10_u128.pow(8)));
        if pico == 0 || hundredths >= 100 {
            format!("{sign}${}.{:02}", grouped(cents / 100), cents % 100)
        } else if pico >= 10_u128.pow(8) {
            format!("{sign}$0.{hundredths:04}")
        } else {
            format!("{sign}<$0.0001")
        }
    }
}

fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Saturates, because a file with absurd counts must not make a report fail.
impl Add for Usd {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Self> for Usd {
    fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
        all.copied().sum()
    }
}

/// Writes all digits, and at least six places: `1.250000`, `0.00000001875`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&decimal(self.0, PLACES, 6))
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Parses an amount that is not negative, such as a budget: `200`, `12.50`.
impl FromStr for Usd {
    type Err = NotMoney;
    fn from_str(text: &str) -> Result<Self, NotMoney> {
        scaled(text, PER_TOKEN).map(Self)
    }
}

impl Price {
    /// More than a dollar per token is a price in the wrong unit; the most expensive model so far
    /// costs 0.0006.
    const LIMIT: i128 = DOLLAR;

    /// Parses dollars per million tokens, `1.25`. Digits finer than 10⁻⁶ dollars per million are
    /// rounded half up.
    pub fn per_million(text: &str) -> Result<Self, NotMoney> {
        Self::within_limit(scaled(text, PER_MILLION)?)
    }

    /// Parses dollars per token, `1.25e-06`. Digits finer than 10⁻¹² dollars are rounded half up,
    /// because tables contain artefacts of binary fractions such as `9.999999999999999e-08`.
    pub fn per_token(text: &str) -> Result<Self, NotMoney> {
        Self::within_limit(scaled(text, PER_TOKEN)?)
    }

    fn within_limit(pico: i128) -> Result<Self, NotMoney> {
        if pico <= Self::LIMIT { Ok(Self(pico)) } else { Err(NotMoney::TooLarge) }
    }

    /// Returns the price in pico-dollars per token.
    pub const fn pico(self) -> i128 {
        self.0
    }

    /// Returns a fraction of the price, rounded half up.
    #[must_use]
    pub const fn times(self, numerator: u32, denominator: NonZeroU32) -> Self {
        let denominator = denominator.get() as i128;
        Self((self.0 * numerator as i128 + denominator / 2) / denominator)
    }

    /// Returns whether tokens are free.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// Cannot overflow, because the product is at most 10¹² times 2⁶⁴.
impl Mul<u64> for Price {
    type Output = Usd;
    fn mul(self, tokens: u64) -> Usd {
        Usd(self.0 * i128::from(tokens))
    }
}

/// Writes dollars per million tokens, with all digits and at least two places: `1.25`, `10.00`,
/// `0.01875`.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&decimal(self.0, PLACES - 6, 2))
    }
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Parses dollars per million tokens, from a number or a string.
impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PriceVisitor)
    }
}

struct PriceVisitor;

impl PriceVisitor {
    fn read<E: de::Error>(text: &str) -> Result<Price, E> {
        Price::per_million(text)
            .map_err(|why| E::custom(format!("`{text}` is not a price in USD per million: {why}")))
    }
}

impl de::Visitor<'_> for PriceVisitor {
    type Value = Price;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a price in USD per million tokens, such as 1.25")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Price, E> {
        Self::read(text)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Price, E> {
        Self::read(&number.to_string())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Price, E> {
        Self::read(&number.to_string())
    }

    /// Reads a TOML number, which is already a float. Its shortest text is what the user wrote, if
    /// that had no more than 15 digits. (JSON files are read differently: see `pricing::file`.)
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Price, E> {
        Self::read(&number.to_string())
    }
}

/// Returns the value of a decimal numeral times 10^`places`, rounded half up to an integer.
fn scaled(text: &str, places: i64) -> Result<i128, NotMoney> {
    let (unsigned, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let power = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(&digits) || !all_digits(power) {
        return Err(NotMoney::NotANumber);
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    if negative {
        return Err(NotMoney::Negative);
    }
    // No real exponent has nine digits; without the limit the sums below could overflow.
    let power: i64 = if power.len() > 9 {
        return Err(NotMoney::NotANumber);
    } else {
        exponent.parse().map_err(|_| NotMoney::NotANumber)?
    };
    let length = |s: &str| i64::try_from(s.len()).map_err(|_| NotMoney::TooLarge);
    // The number of digits before the point once the value is scaled.
    let before = length(digits)? - length(fraction)? + power + places;
    if before > 38 {
        return Err(NotMoney::TooLarge);
    }
    let Ok(before) = usize::try_from(before) else { return Ok(0) };
    let kept = &digits[..before.min(digits.len())];
    let zeros = before - kept.len();
    let up = digits.as_bytes().get(before).is_some_and(|&digit| digit >= b'5');
    let number: i128 = format!("0{kept}{:0<zeros$}", "").parse().map_err(|_| NotMoney::TooLarge)?;
    Ok(number + i128::from(up))
}

/// Formats `number` × 10^-`places`, with trailing zeros cut down to `least` places.
fn decimal(number: i128, places: usize, least: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", number.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let kept = fraction.trim_end_matches('0').len().max(least);
    format!("{sign}{whole}.{}", &fraction[..kept])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn million(text: &str) -> Result<i128, NotMoney> {
        Price::per_million(text).map(Price::pico)
    }

    #[test]
    fn prices_are_read_digit_by_digit() {
        assert_eq!(million("1.25"), Ok(1_250_000));
        assert_eq!(million("0.01875"), Ok(18_750));
        assert_eq!(million("1.875e-2"), Ok(18_750));
        assert_eq!(million("10"), Ok(10_000_000));
        assert_eq!(million("10.0"), Ok(10_000_000));
        assert_eq!(million("+.5"), Ok(500_000));
        assert_eq!(million("5."), Ok(5_000_000));
        assert_eq!(million("0"), Ok(0));
        assert_eq!(million("-0.0"), Ok(0));
        assert_eq!(million("0e99"), Ok(0));
        assert_eq!(Price::per_token("1e-7").map(Price::pico), Ok(100_000));
        assert_eq!(Price::per_token("1.25E-06").map(Price::pico), Ok(1_250_000));
        assert_eq!(Price::per_token("0.00000001875").map(Price::pico), Ok(18_750));
        assert_eq!("12.5".parse(), Ok(Usd(12_500_000_000_000)));
    }

    #[test]
    fn what_is_finer_is_rounded_half_up() {
        assert_eq!(Price::per_token("9.999999999999999e-08").map(Price::pico), Ok(100_000));
        assert_eq!(million("0.0000004"), Ok(0));
        assert_eq!(million("0.0000005"), Ok(1));
        assert_eq!(million("1e-7"), Ok(0));
        assert_eq!(million("1e-999999999"), Ok(0));
        assert_eq!(million("0.00000149999"), Ok(1));
    }

    #[test]
    fn what_is_no_price() {
        use NotMoney::{Negative, NotANumber, TooLarge};
        for text in ["", "-", ".", "e5", "1e", "1e+", "NaN", "inf", "1_0", "1,5", "0x1", " 1", "$1"]
        {
            assert_eq!(million(text), Err(NotANumber), "{text:?}");
        }
        for text in ["1.2.3", "--1", "1e5.0", "1e--5", "١", "null", "1e9999999999"] {
            assert_eq!(million(text), Err(NotANumber), "{text:?}");
        }
        assert_eq!(million("-1"), Err(Negative));
        assert_eq!(million("-1e-30"), Err(Negative));
        assert_eq!(million("1000000"), Ok(Price::LIMIT));
        assert_eq!(million("1000001"), Err(TooLarge));
        assert_eq!(
            Price::per_token("1.25"),
            Err(TooLarge),
            "a price per million in the wrong place"
        );
        assert_eq!(million("1e999999999"), Err(TooLarge));
        assert_eq!("9".repeat(40).parse::<Usd>(), Err(TooLarge));
    }

    #[test]
    fn amounts_as_text() {
        let text = |pico| Usd(pico).to_string();
        assert_eq!(text(0), "0.000000");
        assert_eq!(text(1), "0.000000000001");
        assert_eq!(text(1_250_000_000_000), "1.250000");
        assert_eq!(text(123_456_700_000), "0.1234567");
        assert_eq!(text(-1_500_000_000_000), "-1.500000");
        assert_eq!(text(i128::MIN), "-170141183460469231731687303.715884105728");
        assert_eq!(format!("{:>10}|", Usd(0)), "  0.000000|");
        let price = |text| Price::per_million(text).unwrap().to_string();
        assert_eq!(
            ["10", "1.25", "0.3", "0.01875"].map(price),
            ["10.00", "1.25", "0.30", "0.01875"]
        );
        assert_eq!(serde_json::to_string(&Usd(5)).unwrap(), "\"0.000000000005\"");
    }

    #[test]
    fn amounts_for_people() {
        let cases = [
            ("0", "$0.00"),
            ("1.234", "$1.23"),
            ("1.235", "$1.24"),
            ("0.999", "$1.00"),
            ("1234567.891", "$1,234,567.89"),
            ("999.999", "$1,000.00"),
            ("0.0042", "$0.0042"),
            ("0.00996", "$0.01"),
            ("0.00994", "$0.0099"),
            ("0.00995", "$0.01"),
            ("0.0001", "$0.0001"),
            ("0.00009999", "<$0.0001"),
            ("1e-12", "<$0.0001"),
        ];
        for (amount, want) in cases {
            assert_eq!(amount.parse::<Usd>().unwrap().short(), want, "{amount}");
        }
        assert_eq!(Usd(-2_500_000_000_000).short(), "-$2.50");
    }

    #[test]
    fn a_million_calls_sum_to_their_product() {
        let call = Price::per_million("0.01875").unwrap() * 12_345;
        let sum: Usd = std::iter::repeat_n(call, 1_000_000).sum();
        assert_eq!(sum, Price::per_million("0.01875").unwrap() * 12_345_000_000);
        assert_eq!(sum.to_string(), "231.468750");
        assert_eq!(Usd(i128::MAX) + Usd(1), Usd(i128::MAX));
    }

    #[test]
    fn prices_from_numbers_and_strings() {
        for json in ["0.01875", "\"0.01875\"", "1.875e-2", "1875E-5"] {
            assert_eq!(serde_json::from_str::<Price>(json).unwrap().pico(), 18_750, "{json}");
        }
        assert_eq!(serde_json::from_str::<Price>("3").unwrap().pico(), 3_000_000);
        for json in ["-1", "-0.5", "\"NaN\"", "true", "[]", "null"] {
            assert!(serde_json::from_str::<Price>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn text_and_back(pico in 0..10_i128.pow(38)) {
            // Amounts of more than 38 digits are rejected when parsed.
            prop_assert_eq!(Usd(pico).to_string().parse(), Ok(Usd(pico)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+]?[0-9.eE+-]{0,60}") {
            let _ = text.parse::<Usd>();
        }

        /// A float from TOML is the number that was written.
        #[test]
        fn floats_keep_their_digits(micro in 0_u64..1_000_000_000_000) {
            let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
            let float: f64 = text.parse().unwrap();
            prop_assert_eq!(PriceVisitor::read::<serde_json::Error>(&float.to_string()).unwrap(),
                Price(i128::from(micro)));
        }
    }
}
