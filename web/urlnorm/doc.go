// Package urlnorm makes canonical URLs, and is the only maker of them.
//
// A [URL] is read as the WHATWG URL standard reads it (https://url.spec.whatwg.org/),
// so a reference means here what it means in a browser, and then brought into
// one form: http or https, host in lower case and punycode without a trailing
// dot, default port dropped, no user info, no fragment (except with [URL.WithRoute]), dot segments
// resolved, percent escapes in upper case. Nothing else is changed: parameters are
// neither sorted nor removed, escapes are not decoded, and "/a?" is another
// page than "/a". Two URLs name the same page exactly when they are equal (==),
// and parsing a canonical form again changes nothing.
//
// There are two parsers behind [Parse] and [URL.Resolve]. Plain references, which
// are nearly all of them, are parsed byte by byte in one pass (plain.go). All others
// go to a full WHATWG parser (whatwg.go), which is some twenty times slower. The
// plain parser refuses whatever it does not fully understand, and gives the same
// result as the other one for what it accepts: a fuzz target compares them.
//
// Two things that the standard accepts are refused, because they cannot be
// fetched: ports that browsers refuse, and hosts that are empty or end in an
// empty label once their root dot is gone. The tests check the standard's own
// cases against that list.
//
// The package has no state and does no I/O; every function may be called from
// any number of goroutines.
package urlnorm
