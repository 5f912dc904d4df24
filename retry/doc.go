// Package retry has the table of what is fetched again: which failures and statuses, how often,
// when, and on which connection. It is pure.
//
//	what happened                          again after            counts as a try  on which connection
//	a retry status (see Statuses)          1, 10, 60, 60... s     yes              any
//	time-out, broken or no HTTP answer     1, 10, 60, 60... s     yes              any; the failed one is closed
//	429, 503                               as the host asks       of LimitedTries  any
//	kept connection ended without a byte   the host's gap         no               a new one
//	DNS, connection, TLS, robots.txt       the host backs off     of the host      a new one
//	any other status                       never                  -                -
//
// All waits are at least the host's gap, and a host that asked to be left alone is left alone. A
// failure of one URL never counts against its host. After the last try an answer, of whatever
// status, is the result: it is stored and counts as a page. A failure without an answer has failed.
//
// A request that ended with a kept connection is repeated without limit. That ends: such a
// connection was kept after an answer, so there are no more of these repeats than answers.
package retry
