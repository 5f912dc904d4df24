package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Category classes a failed fetch.
type Category uint8

// The categories.
const (
	DNS            Category = iota // the name has no usable address (set by callers, never by Do)
	Connect                        // no TCP connection
	TLS                            // no TLS session, or a certificate that does not verify
	Timeout                        // connected, but too slow
	Protocol                       // invalid HTTP, or no answer
	Truncated                      // the connection ended inside the payload
	BlockedAddress                 // the address must not be connected to
	// no proxy of the request works, or takes it: not the server's failure
	Proxy
	Other // the request itself is invalid, or the caller cancelled it
)

var categoryNames = [...]string{
	"dns", "connect", "tls", "timeout", "protocol", "truncated", "blocked_address", "proxy", "other",
}

func (c Category) String() string { return categoryNames[min(c, Other)] }

// Error is what Do returns when there is no answer. A fetch that its caller
// cancelled gives an Error that wraps context.Canceled.
type Error struct {
	Category Category
	// Contacted says that the server's address was dialled or used. The server may have received
	// something, up to a whole request.
	Contacted bool
	// Reused says that the connection is to blame, not the URL: a kept one ended without a byte of
	// an answer, or the server wants HTTP/1.1. The Fetcher remembers it of the host, so the same
	// request on a new connection, after the host's gap, will not fail for the same reason.
	Reused bool
	// RetryAfter is, with category Proxy, how long until the first of the proxies may be tried
	// again; at least a second.
	RetryAfter time.Duration
	Err        error

	headless bool // no head of an answer came
	refused  bool // the proxy may have refused this target alone: it may work for others
}

func (e *Error) Error() string { return e.Category.String() + ": " + e.Err.Error() }

// RefusedByProxy reports whether a proxy that works for other servers refused this one, or this
// request: to wait for the proxy would not help.
func (e *Error) RefusedByProxy() bool { return e.Category == Proxy && e.refused }

// ErrRefused is in the chain of Do's error when Request.BeforeWrite refused the request. Contacted
// then says that a connection was opened for it.
var ErrRefused = errors.New("the request was not sent")

// ErrPort is in the chain of CheckAddr's error when the port is forbidden: another address of the
// host would not help.
var ErrPort = errors.New("the port is not allowed")

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same fetch may succeed later without a change of settings.
func (e *Error) Retryable() bool { return e.Category != BlockedAddress && e.Category != Other }

var (
	errHeadTooLarge   = errors.New("the head of the answer is larger than the limit")
	errNothingWritten = errors.New("the kept connection was closed before anything was sent")
	errNoAnswer       = errors.New("the server closed the connection without an answer")
	errHalfHead       = errors.New("the connection ended inside the head of the answer")
	errNoHeadInTime   = timeoutError{"no answer in time (the limit for the head)"}
	errNoMemory       = errors.New("cancelled while waiting for memory for a large payload")
	errSwitching      = errors.New("the server switches protocols without being asked")
)

// timeoutError names the time limit that was reached.
type timeoutError struct{ what string }

func (e timeoutError) Error() string { return e.what }

func tooSlow(received int64, from time.Time) error {
	return timeoutError{fmt.Sprintf("%d bytes of the payload in %v: too slow", received,
		time.Since(from).Round(time.Millisecond))}
}

// isTimeout reports whether a connection's deadline passed.
func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// failed makes the Error of a failure on an open connection. inBody says that the head had been
// read. The caller's own cancellation takes precedence over the error of the connection.
func (x *exchange) failed(inBody bool, err error) *Error {
	if cause := x.ctx.Err(); cause != nil {
		return &Error{
			Category:  categoryOfContext(cause),
			Contacted: true,
			Err:       fmt.Errorf("fetch cancelled: %w", cause),
		}
	}
	e := &Error{Category: Protocol, Contacted: true, Err: err}
	var slow timeoutError
	var op *net.OpError
	switch {
	case errors.As(err, &slow), isTimeout(err):
		e.Category = Timeout
	case inBody && (errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)):
		e.Category = Truncated
		e.Err = fmt.Errorf("the connection ended inside the payload: %w", err)
	case !inBody && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		e.Err = errNoAnswer
	}
	return e
}

func categoryOfContext(cause error) Category {
	if errors.Is(cause, context.DeadlineExceeded) {
		return Timeout
	}
	return Other
}
