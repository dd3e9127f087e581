// Package calendar knows natural periods and time zones: when a minute, hour, day, week or month of
// a zone begins and ends, clock changes included. Rules, quiet hours, quotas, counters and reports
// all use it.
//
//	Period         a natural period: Minute to Month
//	Stretch        a half-open interval of time
//	ZoneTables     the offsets of the zones in use, cached by year
//	ParseDuration, FormatDuration             lengths of time with days: "7d", "1h30m"
//	DayStart, NaturalPeriod, ChargedPeriods   where a period begins and ends
//	ZoneTable.PeriodAt                        the same as calendar rules count it
//
// An hour ends where the clocks change, and the day then has 23 or 25 hours. The zone "Local" is
// refused, because it differs between machines.
//
// Package calendar knows no policy and no Redis.
package calendar
