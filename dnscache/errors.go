package dnscache

import (
	"errors"
	"fmt"
	"time"
)

// The classes of a failed look-up; test for them with errors.Is.
var (
	// ErrNotFound: the servers answered that the name does not exist or has no
	// address. Asking again soon gives the same.
	ErrNotFound = errors.New("host not found")
	// ErrFailed: no server gave a usable answer. The name may be fine.
	ErrFailed = errors.New("name servers failed")
	// ErrOutage is an ErrFailed that says nothing about the name: no server answers any
	// query.
	ErrOutage = fmt.Errorf("%w: none answers anything", ErrFailed)
	// ErrLimited is an ErrFailed that says nothing about the name: a server that was
	// asked limits how much it answers.
	ErrLimited = fmt.Errorf("%w: they limit us", ErrFailed)
	// ErrClosed: the cache was closed during the look-up.
	ErrClosed = errors.New("name cache is closed")
)

// Error is a look-up that gave no address.
type Error struct {
	Host   string
	Class  error     // ErrNotFound, ErrFailed, ErrOutage or ErrLimited
	Reason string    // for people: the answer of the servers
	Since  time.Time // with ErrOutage and ErrLimited: when it began
	Err    error     // the cause, or nil
}

func (e *Error) Error() string {
	return "look up " + e.Host + ": " + e.Class.Error() + ": " + e.Reason
}

// Unwrap gives the class and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Class}
	}
	return []error{e.Class, e.Err}
}

// notFound makes an Error of class ErrNotFound.
func notFound(host, reason string) *Error {
	return &Error{Host: host, Class: ErrNotFound, Reason: reason}
}

// failed makes an Error of class ErrFailed, or ErrLimited.
func failed(host string, err error) *Error {
	if l, limited := errors.AsType[*limitedError](err); limited {
		return &Error{Host: host, Class: ErrLimited, Reason: err.Error(), Since: l.since, Err: err}
	}
	return &Error{Host: host, Class: ErrFailed, Reason: err.Error(), Err: err}
}
