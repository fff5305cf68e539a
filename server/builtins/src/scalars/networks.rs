//! Functions and operators of `inet` and `cidr`.

use braid_types::net::Inet;
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::Call;
use crate::registry::call::{invalid, text};
use crate::registry::tables::Registry;

fn inet(call: &Call<'_>, index: usize) -> Result<Inet> {
    let found = call.datum(index).as_bytes().and_then(Inet::from_bytes);
    found.ok_or_else(|| Error::internal("an argument that is no address"))
}

/// Two addresses of one family; 22023 with this message otherwise.
fn of_one_family(call: &Call<'_>, message: &str) -> Result<(Inet, Inet)> {
    let (left, right) = (inet(call, 0)?, inet(call, 1)?);
    if left.is_v6 == right.is_v6 { Ok((left, right)) } else { Err(invalid(message)) }
}

fn out_of_range() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "result is out of range")
}

/// Whether two addresses have the same first bits.
fn same_prefix(left: &Inet, right: &Inet, bits: u8) -> bool {
    let mask = Inet { bits, ..*left }.netmask();
    left.is_v6 == right.is_v6 && left.address & mask == right.address & mask
}

/// Whether `inner` is inside of `outer`, or equal to it.
fn contains(outer: &Inet, inner: &Inet) -> bool {
    inner.bits >= outer.bits && same_prefix(outer, inner, outer.bits)
}

fn overlap(call: &Call<'_>) -> Result<Datum> {
    let (left, right) = (inet(call, 0)?, inet(call, 1)?);
    Ok(Datum::Bool(same_prefix(&left, &right, left.bits.min(right.bits))))
}

/// A containment operator: which argument is outside, and whether equal networks count.
fn containment(call: &Call<'_>, outer: usize, with_equal: bool) -> Result<Datum> {
    let (outside, inside) = (inet(call, outer)?, inet(call, 1 - outer)?);
    let is_inside = contains(&outside, &inside) && (with_equal || inside.bits > outside.bits);
    Ok(Datum::Bool(is_inside))
}

/// An address with a mask of another length; -1 is the whole address.
fn set_masklen(call: &Call<'_>) -> Result<Datum> {
    let (value, wanted) = (inet(call, 0)?, call.int(1)?);
    let bits = match u8::try_from(wanted) {
        _ if wanted == -1 => value.width(),
        Ok(bits) if bits <= value.width() => bits,
        _ => return Err(invalid(format!("invalid mask length: {wanted}"))),
    };
    let mut changed = Inet { bits, ..value };
    if *call.returns == SqlType::Cidr {
        changed.address = changed.network();
    }
    Ok(changed.to_datum())
}

/// The smallest network that has both.
fn merge(call: &Call<'_>) -> Result<Datum> {
    let message = "cannot merge addresses from different families";
    let (left, right) = of_one_family(call, message)?;
    let most = left.bits.min(right.bits);
    let bits = (0..=most).rev().find(|bits| same_prefix(&left, &right, *bits)).unwrap_or(0);
    let merged = Inet { bits, ..left };
    Ok(Inet { address: merged.network(), ..merged }.to_datum())
}

fn combine(call: &Call<'_>, name: &str, combined: fn(u128, u128) -> u128) -> Result<Datum> {
    let message = format!("cannot {name} inet values of different sizes");
    let (left, right) = of_one_family(call, &message)?;
    let bits = left.bits.max(right.bits);
    Ok(Inet { bits, address: combined(left.address, right.address), ..left }.to_datum())
}

fn plus(value: Inet, added: i128) -> Result<Datum> {
    let found = if added < 0 {
        value.address.checked_sub(added.unsigned_abs())
    } else {
        value.address.checked_add(added.unsigned_abs())
    };
    let address = found.filter(|address| *address <= value.all()).ok_or_else(out_of_range)?;
    Ok(Inet { address, ..value }.to_datum())
}

fn difference(call: &Call<'_>) -> Result<Datum> {
    let message = "cannot subtract inet values of different sizes";
    let (left, right) = of_one_family(call, message)?;
    let difference = left.address.wrapping_sub(right.address) as i128;
    // Halves of the 128 bits lie too far apart for the sign to be right.
    let is_right = (left.address >= right.address) == (difference >= 0);
    let small = i64::try_from(difference).ok().filter(|_| is_right);
    small.map(Datum::Int).ok_or_else(out_of_range)
}

/// An address that is no network of its own.
fn single(value: Inet, address: u128) -> Result<Datum> {
    Ok(Inet { address, bits: value.width(), ..value }.to_datum())
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("<<(inet, inet) -> bool", |c| containment(c, 1, false));
    registry.add("<<=(inet, inet) -> bool", |c| containment(c, 1, true));
    registry.add(">>(inet, inet) -> bool", |c| containment(c, 0, false));
    registry.add(">>=(inet, inet) -> bool", |c| containment(c, 0, true));
    registry.add("&&(inet, inet) -> bool", overlap);
    registry.add("network_sub(inet, inet) -> bool", |c| containment(c, 1, false));
    registry.add("network_subeq(inet, inet) -> bool", |c| containment(c, 1, true));
    registry.add("network_sup(inet, inet) -> bool", |c| containment(c, 0, false));
    registry.add("network_supeq(inet, inet) -> bool", |c| containment(c, 0, true));
    registry.add("network_overlap(inet, inet) -> bool", overlap);
    registry.add("~(inet) -> inet", |c| {
        let value = inet(c, 0)?;
        Ok(Inet { address: !value.address & value.all(), ..value }.to_datum())
    });
    registry.add("&(inet, inet) -> inet", |c| combine(c, "AND", |a, b| a & b));
    registry.add("|(inet, inet) -> inet", |c| combine(c, "OR", |a, b| a | b));
    registry.add("+(inet, int8) -> inet", |c| plus(inet(c, 0)?, i128::from(c.int(1)?)));
    registry.add("+(int8, inet) -> inet", |c| plus(inet(c, 1)?, i128::from(c.int(0)?)));
    registry.add("-(inet, int8) -> inet", |c| plus(inet(c, 0)?, -i128::from(c.int(1)?)));
    registry.add("-(inet, inet) -> int8", difference);
    registry.add("family(inet) -> int4", |c| Ok(Datum::Int(if inet(c, 0)?.is_v6 { 6 } else { 4 })));
    registry.add("masklen(inet) -> int4", |c| Ok(Datum::Int(inet(c, 0)?.bits.into())));
    registry.add("host(inet) -> text", |c| text(inet(c, 0)?.host()));
    registry.add("text(inet) -> text", |c| text(inet(c, 0)?.with_mask()));
    registry.add("abbrev(inet) -> text", |c| text(inet(c, 0)?.show(&SqlType::Inet)));
    registry.add("abbrev(cidr) -> text", |c| text(inet(c, 0)?.abbreviated()));
    for signature in ["network(inet) -> cidr", "cidr(inet) -> cidr"] {
        registry.add(signature, |c| {
            let value = inet(c, 0)?;
            Ok(Inet { address: value.network(), ..value }.to_datum())
        });
    }
    registry.add("netmask(inet) -> inet", |c| single(inet(c, 0)?, inet(c, 0)?.netmask()));
    registry.add("hostmask(inet) -> inet", |c| single(inet(c, 0)?, inet(c, 0)?.hostmask()));
    registry.add("broadcast(inet) -> inet", |c| {
        let value = inet(c, 0)?;
        Ok(Inet { address: value.address | value.hostmask(), ..value }.to_datum())
    });
    registry.add("set_masklen(inet, int4) -> inet", set_masklen);
    registry.add("set_masklen(cidr, int4) -> cidr", set_masklen);
    registry.add("inet_same_family(inet, inet) -> bool", |c| {
        Ok(Datum::Bool(inet(c, 0)?.is_v6 == inet(c, 1)?.is_v6))
    });
    registry.add("inet_merge(inet, inet) -> cidr", merge);
}
