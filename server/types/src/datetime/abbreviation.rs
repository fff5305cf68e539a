//! Abbreviations of time zones that input accepts.
//!
//! Most mean one offset for ever. Others have meant different offsets in the course of time, or
//! stand for what a place has at an instant: these name the zone whose history decides.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::zone::{fixed_zone, jiff_timestamp, offset_at, offset_of_local};

/// Abbreviations with one offset, in seconds east of UTC.
const FIXED: &[(&str, i32)] = &[
    ("acdt", 37_800),
    ("acsst", 37_800),
    ("acst", 34_200),
    ("act", -18_000),
    ("acwst", 31_500),
    ("adt", -10_800),
    ("aedt", 39_600),
    ("aesst", 39_600),
    ("aest", 36_000),
    ("aft", 16_200),
    ("akdt", -28_800),
    ("akst", -32_400),
    ("almst", 25_200),
    ("almt", 21_600),
    ("amt", -14_400),
    ("ast", -14_400),
    ("awsst", 32_400),
    ("awst", 28_800),
    ("azost", 0),
    ("azot", -3_600),
    ("bdst", 7_200),
    ("bdt", 21_600),
    ("bnt", 28_800),
    ("bort", 28_800),
    ("bot", -14_400),
    ("bra", -10_800),
    ("brst", -7_200),
    ("brt", -10_800),
    ("bst", 3_600),
    ("btt", 21_600),
    ("cadt", 37_800),
    ("cast", 34_200),
    ("cct", 28_800),
    ("cdt", -18_000),
    ("cest", 7_200),
    ("cet", 3_600),
    ("cetdst", 7_200),
    ("chadt", 49_500),
    ("chast", 45_900),
    ("chut", 36_000),
    ("clst", -10_800),
    ("cot", -18_000),
    ("cst", -21_600),
    ("cxt", 25_200),
    ("ddut", 36_000),
    ("eat", 10_800),
    ("edt", -14_400),
    ("eest", 10_800),
    ("eet", 7_200),
    ("eetdst", 10_800),
    ("egst", 0),
    ("egt", -3_600),
    ("est", -18_000),
    ("fet", 10_800),
    ("fjst", 46_800),
    ("fjt", 43_200),
    ("fnst", -3_600),
    ("fnt", -7_200),
    ("galt", -21_600),
    ("gamt", -32_400),
    ("gft", -10_800),
    ("gilt", 43_200),
    ("gmt", 0),
    ("hkt", 28_800),
    ("hst", -36_000),
    ("ict", 25_200),
    ("idt", 10_800),
    ("irt", 12_600),
    ("ist", 7_200),
    ("jayt", 32_400),
    ("jst", 32_400),
    ("kdt", 36_000),
    ("kgst", 21_600),
    ("kst", 32_400),
    ("lhst", 37_800),
    ("ligt", 36_000),
    ("mart", -34_200),
    ("mdt", -21_600),
    ("mest", 7_200),
    ("mesz", 7_200),
    ("met", 3_600),
    ("metdst", 7_200),
    ("mez", 3_600),
    ("mht", 43_200),
    ("mmt", 23_400),
    ("mpt", 36_000),
    ("msd", 14_400),
    ("mst", -25_200),
    ("must", 18_000),
    ("mut", 14_400),
    ("mvt", 18_000),
    ("myt", 28_800),
    ("ndt", -9_000),
    ("nft", -12_600),
    ("npt", 20_700),
    ("nst", -12_600),
    ("nzdt", 46_800),
    ("nzst", 43_200),
    ("nzt", 43_200),
    ("pdt", -25_200),
    ("pet", -18_000),
    ("pgt", 36_000),
    ("pht", 28_800),
    ("pkst", 21_600),
    ("pkt", 18_000),
    ("pmdt", -7_200),
    ("pmst", -10_800),
    ("pont", 39_600),
    ("pst", -28_800),
    ("pwt", 32_400),
    ("pyst", -10_800),
    ("ret", 14_400),
    ("sadt", 37_800),
    ("sast", 7_200),
    ("sct", 14_400),
    ("taht", -36_000),
    ("tft", 18_000),
    ("tjt", 18_000),
    ("tot", 46_800),
    ("trut", 36_000),
    ("tvt", 43_200),
    ("uct", 0),
    ("ulast", 32_400),
    ("ut", 0),
    ("utc", 0),
    ("uyst", -7_200),
    ("uyt", -10_800),
    ("uzst", 21_600),
    ("uzt", 18_000),
    ("vut", 39_600),
    ("wadt", 28_800),
    ("wakt", 43_200),
    ("wast", 25_200),
    ("wat", 3_600),
    ("wdt", 32_400),
    ("west", 3_600),
    ("wet", 0),
    ("wetdst", 3_600),
    ("wft", 43_200),
    ("wgst", -7_200),
    ("wgt", -10_800),
    ("wib", 25_200),
    ("xjt", 21_600),
    ("yapt", 36_000),
    ("yekst", 21_600),
    ("z", 0),
    ("zulu", 0),
];

/// Abbreviations whose offset depends on the instant, with the zone that has their history.
const HISTORIC: &[(&str, &str)] = &[
    ("amst", "Asia/Yerevan"),
    ("anast", "Asia/Anadyr"),
    ("anat", "Asia/Anadyr"),
    ("arst", "America/Argentina/Buenos_Aires"),
    ("art", "America/Argentina/Buenos_Aires"),
    ("azst", "Asia/Baku"),
    ("azt", "Asia/Baku"),
    ("ckt", "Pacific/Rarotonga"),
    ("clt", "America/Santiago"),
    ("davt", "Antarctica/Davis"),
    ("easst", "Pacific/Easter"),
    ("east", "Pacific/Easter"),
    ("fkst", "Atlantic/Stanley"),
    ("fkt", "Atlantic/Stanley"),
    ("gest", "Asia/Tbilisi"),
    ("get", "Asia/Tbilisi"),
    ("gyt", "America/Guyana"),
    ("iot", "Indian/Chagos"),
    ("irkst", "Asia/Irkutsk"),
    ("irkt", "Asia/Irkutsk"),
    ("kgt", "Asia/Bishkek"),
    ("kost", "Pacific/Kosrae"),
    ("krast", "Asia/Krasnoyarsk"),
    ("krat", "Asia/Krasnoyarsk"),
    ("lhdt", "Australia/Lord_Howe"),
    ("lint", "Pacific/Kiritimati"),
    ("lkt", "Asia/Colombo"),
    ("magst", "Asia/Magadan"),
    ("magt", "Asia/Magadan"),
    ("mawt", "Antarctica/Mawson"),
    ("msk", "Europe/Moscow"),
    ("novst", "Asia/Novosibirsk"),
    ("novt", "Asia/Novosibirsk"),
    ("nut", "Pacific/Niue"),
    ("omsst", "Asia/Omsk"),
    ("omst", "Asia/Omsk"),
    ("petst", "Asia/Kamchatka"),
    ("pett", "Asia/Kamchatka"),
    ("pyt", "America/Asuncion"),
    ("sgt", "Asia/Singapore"),
    ("tkt", "Pacific/Fakaofo"),
    ("tmt", "Asia/Ashgabat"),
    ("ulat", "Asia/Ulaanbaatar"),
    ("vet", "America/Caracas"),
    ("vlast", "Asia/Vladivostok"),
    ("vlat", "Asia/Vladivostok"),
    ("volt", "Europe/Volgograd"),
    ("yakst", "Asia/Yakutsk"),
    ("yakt", "Asia/Yakutsk"),
    ("yekt", "Asia/Yekaterinburg"),
];

/// Those of the fixed ones that are in use while daylight saving is in force.
const DAYLIGHT_SAVING: &[&str] = &[
    "acdt", "acsst", "adt", "aedt", "aesst", "akdt", "almst", "awsst", "azost", "bdst", "brst",
    "bst", "cadt", "cdt", "cest", "cetdst", "chadt", "clst", "edt", "eest", "eetdst", "egst",
    "fjst", "fnst", "idt", "kdt", "mdt", "mest", "mesz", "metdst", "msd", "must", "ndt", "nzdt",
    "pdt", "pkst", "pmdt", "pyst", "sadt", "uyst", "uzst", "wadt", "wdt", "wetdst", "wgst",
    "yekst",
];

/// An abbreviation of a time zone.
#[derive(Clone, Debug)]
pub struct Abbreviation {
    name: String,
    meaning: Meaning,
}

#[derive(Clone, Debug)]
enum Meaning {
    Fixed(TimeZone),
    Historic(TimeZone),
}

impl Abbreviation {
    /// The abbreviation of that name, in any case.
    pub fn find(name: &str) -> Option<Abbreviation> {
        let lower = name.to_ascii_lowercase();
        if let Ok(at) = FIXED.binary_search_by(|entry| entry.0.cmp(&lower)) {
            let zone = fixed_zone(FIXED[at].1)?;
            return Some(Abbreviation { name: lower, meaning: Meaning::Fixed(zone) });
        }
        let at = HISTORIC.binary_search_by(|entry| entry.0.cmp(&lower)).ok()?;
        let zone = TimeZone::get(HISTORIC[at].1).ok()?;
        Some(Abbreviation { name: lower, meaning: Meaning::Historic(zone) })
    }

    /// Every abbreviation with its offset at an instant, in seconds, and whether daylight saving is
    /// in force where it is used.
    pub fn all(utc_micros: i64) -> Vec<(&'static str, i32, bool)> {
        let fixed =
            FIXED.iter().map(|(name, offset)| (*name, *offset, DAYLIGHT_SAVING.contains(name)));
        let historic = HISTORIC.iter().filter_map(|(name, place)| {
            let zone = Abbreviation::find(name)?.at_instant(utc_micros);
            let place = TimeZone::get(place).ok()?;
            let is_dst = place.to_offset_info(jiff_timestamp(utc_micros)).dst().is_dst();
            Some((*name, offset_at(&zone, utc_micros), is_dst))
        });
        fixed.chain(historic).collect()
    }

    /// What it means for a local time: a zone of one offset.
    pub fn at_local(&self, local_micros: i64) -> TimeZone {
        match &self.meaning {
            Meaning::Fixed(zone) => zone.clone(),
            Meaning::Historic(zone) => {
                let offset = offset_of_local(zone, local_micros);
                self.at_instant(local_micros.saturating_sub(i64::from(offset) * 1_000_000))
            }
        }
    }

    /// What it means at an instant: a zone of one offset. The last use of the abbreviation until
    /// then counts, else its first one after; without any, what the zone has at the instant.
    pub fn at_instant(&self, utc_micros: i64) -> TimeZone {
        let zone = match &self.meaning {
            Meaning::Fixed(zone) => return zone.clone(),
            Meaning::Historic(zone) => zone,
        };
        let offset = self.used(zone, jiff_timestamp(utc_micros));
        let offset = offset.unwrap_or_else(|| offset_at(zone, utc_micros));
        fixed_zone(offset).unwrap_or_else(|| zone.clone())
    }

    fn used(&self, zone: &TimeZone, at: Timestamp) -> Option<i32> {
        let is_it = |name: &str| name.eq_ignore_ascii_case(&self.name);
        let now = zone.to_offset_info(at);
        if is_it(now.abbreviation()) {
            return Some(now.offset().seconds());
        }
        let mut before = zone.preceding(at);
        let mut after = zone.following(at).take(FOLLOWING_MAX);
        let found = before.find(|change| is_it(change.abbreviation()));
        let found = found.or_else(|| after.find(|change| is_it(change.abbreviation())));
        found.map(|change| change.offset().seconds())
    }
}

/// How many later changes of a zone are looked at: rules for the future repeat without end.
const FOLLOWING_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_their_zones_known() {
        assert!(FIXED.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(HISTORIC.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (name, zone) in HISTORIC {
            assert!(TimeZone::get(zone).is_ok(), "{name} {zone}");
        }
    }
}
