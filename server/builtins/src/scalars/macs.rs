//! Functions and operators of `macaddr` and `macaddr8`.

use braid_types::{Datum, Error, Result};

use crate::Call;
use crate::registry::tables::Registry;

/// Bytes of the manufacturer, which `trunc` keeps.
const MANUFACTURER_BYTES: usize = 3;
/// The bit that marks an address as local.
const LOCAL_BIT: u8 = 2;

fn bytes<'a>(call: &Call<'a>, index: usize) -> Result<&'a [u8]> {
    let found = call.datum(index).as_bytes();
    found.ok_or_else(|| Error::internal("an argument that is no hardware address"))
}

fn combine(call: &Call<'_>, combined: fn(u8, u8) -> u8) -> Result<Datum> {
    let pairs = bytes(call, 0)?.iter().zip(bytes(call, 1)?);
    Ok(Datum::bytes(pairs.map(|(a, b)| combined(*a, *b)).collect::<Vec<u8>>()))
}

fn trunc(call: &Call<'_>) -> Result<Datum> {
    let mut kept = bytes(call, 0)?.to_vec();
    kept.iter_mut().skip(MANUFACTURER_BYTES).for_each(|byte| *byte = 0);
    Ok(Datum::bytes(kept))
}

fn set_local_bit(call: &Call<'_>) -> Result<Datum> {
    let mut changed = bytes(call, 0)?.to_vec();
    changed.iter_mut().take(1).for_each(|byte| *byte |= LOCAL_BIT);
    Ok(Datum::bytes(changed))
}

fn inverted(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::bytes(bytes(call, 0)?.iter().map(|byte| !byte).collect::<Vec<u8>>()))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("~(macaddr) -> macaddr", inverted);
    registry.add("~(macaddr8) -> macaddr8", inverted);
    registry.add("&(macaddr, macaddr) -> macaddr", |c| combine(c, |a, b| a & b));
    registry.add("&(macaddr8, macaddr8) -> macaddr8", |c| combine(c, |a, b| a & b));
    registry.add("|(macaddr, macaddr) -> macaddr", |c| combine(c, |a, b| a | b));
    registry.add("|(macaddr8, macaddr8) -> macaddr8", |c| combine(c, |a, b| a | b));
    registry.add("trunc(macaddr) -> macaddr", trunc);
    registry.add("trunc(macaddr8) -> macaddr8", trunc);
    registry.add("macaddr8_set7bit(macaddr8) -> macaddr8", set_local_bit);
    registry.add("macaddr(macaddr8) -> macaddr", |c| c.cast(0, c.returns));
    registry.add("macaddr8(macaddr) -> macaddr8", |c| c.cast(0, c.returns));
}
