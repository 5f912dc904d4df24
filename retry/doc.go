// Package retry defines what is fetched again: which failures and statuses, how often,
// when, and on which connection. It is pure.
//
//	event                                 again after         counts as a try  connection
//	a retry status (see Statuses)         1, 10, 60, 60... s  yes              any
//	time-out, broken or no response       1, 10, 60, 60... s  yes              not the failed one
//	429, 503                              as the host asks    of LimitedTries  any
//	kept connection closed without a byte the host's gap      no               a new one
//	DNS, connection, TLS, robots.txt      the host backs off  of the host      a new one
//	any other status                      never               -                -
//
// All waits are at least the host's gap, and Retry-After is obeyed. A
// failure of one URL never counts against its host. After the last try a response, of whatever
// status, is the result: it is stored and counts as a page. Without a response the URL has failed.
//
// A request whose kept connection was closed without a byte is repeated without limit. That
// terminates: a connection is kept only after a response, so there are no more such repeats than
// responses.
package retry
