//! Calendar arithmetic: civil dates, time zones, intervals.
