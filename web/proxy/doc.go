// Package proxy has the addresses of proxies as people write them, and decides which of several is
// used next.
//
// A Proxy is http, https or socks5, with host and port. It never holds a password: its credentials
// are the name of a secret, and whoever connects asks for the value. So a Proxy, its text and the
// errors of Parse may stand in settings, logs and reports.
//
// A Pool hands out the proxies of a list in turn. One that failed is left out for 1 s, then for
// 10 s, then for 60 s each time; a success ends that. It does no I/O and reads no clock.
package proxy
