package fetcher

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"crawlnode/web/botauth"
	"crawlnode/web/mime"
	"crawlnode/web/proxy"
	"crawlnode/web/urlnorm"
)

// Options set a Fetcher's limits. A zero field means the default.
type Options struct {
	// UserAgent is sent with each request unless the Request has its own.
	UserAgent string
	// MaxBody bounds the payload in bytes, both as received and after decoding; the rest is cut.
	// Default 10 MiB.
	MaxBody int64
	// MaxRatio bounds the ratio of decoded to received bytes, for decoded payloads beyond 1 MiB;
	// the rest is cut. Default 400: real pages stay below 100.
	MaxRatio int64
	// MaxHead bounds the head of an answer in bytes, interim answers
	// (1xx) included. Default 256 KiB.
	MaxHead int
	// ConnectTimeout bounds the TCP connection (default 10 s), TLSTimeout the
	// handshake (8 s), HeadTimeout the wait for the head (15 s), Timeout the
	// whole fetch (60 s).
	ConnectTimeout, TLSTimeout, HeadTimeout, Timeout time.Duration
	// MinRate is the minimum average rate of the payload in bytes per second, checked from
	// MinRateAfter on. Defaults 256 and 10 s.
	MinRate      int64
	MinRateAfter time.Duration
	// MaxIdleConns bounds the kept connections (default 1024), IdleTimeout
	// the time that one is kept (20 s).
	MaxIdleConns int
	IdleTimeout  time.Duration
	// SpoolDir is the directory of the nameless, memory-mapped files for payloads beyond 256 KiB.
	// SpoolBytes bounds their disk space together (default 4 GiB); 256 MiB of the disk stay free.
	// No payload waits for spool space: if there is none, or SpoolDir is "" or its file system has
	// no such files, the payload uses anonymous memory.
	SpoolDir   string
	SpoolBytes int64
	// LargeBodyMemory bounds the anonymous memory of all payloads beyond 256 KiB that are not
	// spooled, until Response.Release. Payloads wait for it. Default 256 MiB.
	LargeBodyMemory int64
	// DialContext opens a connection to an "ip:port" address. Default: the operating system's
	// dialer, with a last check of the address.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// DialProxy opens a connection to the "host:port" of a proxy. Which proxies there are is the
	// operator's choice: their addresses are not judged. Default: the operating system's dialer.
	DialProxy func(ctx context.Context, network, addr string) (net.Conn, error)
	// Allowed names addresses that may be connected to although they are not
	// public. It may be called at any time from any goroutine. Nil: none.
	Allowed func(netip.Addr) bool
	// ProxyDenied returns why the address of a proxy must not be connected to; nil: it may. The rules
	// for addresses of web servers do not count for proxies, which the owner names. It may be called
	// at any time from any goroutine.
	ProxyDenied func(netip.AddrPort) error
	// Denied returns why an address with a port must not be connected to, even if Allowed allows
	// it; nil: it may. It may be called at any time from any goroutine.
	Denied func(netip.AddrPort) error
	// TLSRecord continues when a certificate does not verify and records the reason in
	// Response.TLS. TLS 1.0 and 1.1, RSA key exchange and old ciphers are then accepted.
	TLSRecord bool
	// RootCAs are trusted certificates; nil: the system's.
	RootCAs *x509.CertPool
	// Signer signs each request (Web Bot Auth); nil: none is signed.
	Signer *botauth.Signer
}

// defaultRatio is the default of MaxRatio.
const defaultRatio = 400

func (o Options) withDefaults() Options {
	def(&o.MaxBody, 10<<20)
	def(&o.MaxRatio, defaultRatio)
	def(&o.MaxHead, 256<<10)
	def(&o.ConnectTimeout, 10*time.Second)
	def(&o.TLSTimeout, 8*time.Second)
	def(&o.HeadTimeout, 15*time.Second)
	def(&o.Timeout, 60*time.Second)
	def(&o.MinRate, 256)
	def(&o.MinRateAfter, 10*time.Second)
	def(&o.MaxIdleConns, 1024)
	def(&o.IdleTimeout, 20*time.Second)
	def(&o.LargeBodyMemory, 256<<20)
	def(&o.SpoolBytes, 4<<30)
	return o
}

func def[T int | int64 | time.Duration](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

// Request names what to fetch.
type Request struct {
	URL urlnorm.URL
	// Addr is the resolved address of the URL's host. Only it is dialled.
	Addr netip.Addr
	// ETag and LastModified are validators of an earlier fetch (Validators), or "": the
	// server may then answer 304. One that is not of their form is not sent.
	ETag, LastModified string
	// UserAgent and MaxBody override the Options when set; TLSRecord adds to them.
	UserAgent string
	MaxBody   int64
	TLSRecord bool
	// Timeout and HeadTimeout override those of the Options when set.
	Timeout, HeadTimeout time.Duration
	// Cookie is the value of the request's Cookie header, Authorization that of Authorization; ""
	// sends none.
	Cookie, Authorization string
	// Headers are sent as well. One that the Fetcher sends by itself is replaced, and without a value
	// it is not sent. They must pass CheckHeader.
	Headers []Header
	// Proxies are used in turn, those that failed left out for a while; none: the address is dialled.
	Proxies []proxy.Proxy
	// ProxyUser returns "user:password" for the name of a secret. It is called for a proxy that names
	// one, before each connection to it.
	ProxyUser func(name string) (userpass string, ok bool)
	// Source is the local address of the connection, which with a proxy is the one to it; the zero
	// Addr: any.
	Source netip.Addr
	// LastTry says that the request is not made again: an answer of whose payload not one byte came
	// is then returned, cut, where Do fails otherwise.
	LastTry bool
	// BeforeWrite, if set, is called right before the request's bytes are written, when the
	// connection is open, and again before they are written to another connection. If it returns an
	// error the request is not sent, and Do fails with ErrRefused. It must not block.
	BeforeWrite func() error
	// Received, if any, counts the payload's bytes as they arrive.
	Received *atomic.Int64
}

// TLSInfo describes the TLS connection of an answer.
type TLSInfo struct {
	Version uint16 // tls.VersionTLS13 and so on
	// Err is why the certificate does not verify; nil when it does. It can only be set with
	// TLSRecord.
	Err error
}

// Response is one whole answer. The caller may use its byte slices until it calls Release, which it
// must call once they are no longer needed.
type Response struct {
	Status int
	Proto  string // "HTTP/1.0", "HTTP/1.1" or "HTTP/2.0"
	Header http.Header
	// RemoteAddr is the address of the server. It is the zero Addr when a proxy has resolved the name
	// itself, as it does with plain HTTP over an HTTP proxy.
	RemoteAddr netip.Addr
	TLS        *TLSInfo // nil for plain HTTP
	// RequestHead and ResponseHead are the heads as sent and received, but for the values of Cookie,
	// Authorization, Proxy-Authorization and headers that are secret, which are <redacted>: lines
	// ended by CR LF, with the empty line. ResponseHead has no Transfer-Encoding lines, as RawBody has
	// no transfer coding, and bytes that could forge a line are blanked. An HTTP/2 exchange is written
	// as the equivalent HTTP/1.1 one.
	RequestHead, ResponseHead []byte
	// RawBody is the payload as received, without transfer coding, with the
	// content codings that ResponseHead names.
	RawBody []byte
	// Body is the decoded payload; the same memory as RawBody when nothing
	// was encoded.
	Body []byte
	// Truncated is why RawBody or Body is not whole.
	Truncated Cut
	// DecodeErr is why decoding failed; Body then holds the part that could be decoded.
	DecodeErr error
	// ContentType is the type that browsers see, with its charset, if any; MediaType has no
	// parameters. See package mime.
	ContentType, MediaType string
	WireBytes              int64     // len(RawBody)
	Started                time.Time // wall and monotonic
	Took                   time.Duration
	Reused                 bool // on a kept connection
	// Conditional says that the request had a validator, so that the status may be 304. A 304 without
	// is an error.
	Conditional bool

	held *exchange // the exchange that made it; nil once released
}

// Coded reports whether RawBody is compressed: it had content codings, and could be decoded, to the
// end or to a limit.
func (r *Response) Coded() bool {
	return len(r.RawBody) > 0 && len(r.Body) > 0 && r.DecodeErr == nil && &r.Body[0] != &r.RawBody[0]
}

// Release gives the memory of the byte slices back. The Response must not be
// used afterwards; calling Release again does nothing.
func (r *Response) Release() {
	if x := r.held; x != nil {
		r.held = nil
		r.RawBody, r.Body = nil, nil
		x.free()
	}
}

// Fetcher makes requests. All methods may be called from any goroutine.
type Fetcher struct {
	o       Options
	pool    *pool
	large   *semaphore.Weighted // bytes of Options.LargeBodyMemory
	spooled *semaphore.Weighted // bytes of Options.SpoolBytes
	h2      *http.Transport     // makes HTTP/2 connections of our TLS ones; has no pool
	strict  *tls.Config
	lax     *tls.Config // for TLSRecord
	proxies proxy.Pool
	dialer  *net.Dialer // to web servers; nil: Options.DialContext was given

	// The pools belong to the Fetcher and not to the process: their contents may have channels,
	// which must not cross a test's bubble.
	wires    sync.Pool   // *wire
	bodies   sync.Pool   // *[]byte, 64 KiB to 256 KiB
	medium   chan []byte // free buffers of firstSpool bytes, full at rest; nil ones were never used
	decoders decoders
	quirks   quirks
}

// New makes a Fetcher. Close frees its resources.
func New(o Options) *Fetcher {
	f := &Fetcher{o: o.withDefaults()}
	if f.o.DialContext == nil {
		f.dialer = f.defaultDialer()
		f.o.DialContext = f.dialer.DialContext
	}
	f.pool = newPool(f.o.MaxIdleConns, f.o.IdleTimeout)
	f.large = semaphore.NewWeighted(f.o.LargeBodyMemory)
	f.spooled = semaphore.NewWeighted(f.o.SpoolBytes)
	f.h2 = newHTTP2(f.o)
	f.strict, f.lax = f.tlsConfigs()
	f.wires.New = func() any { return newWire() }
	f.bodies.New = func() any { b := make([]byte, 0, smallBodyBytes); return &b }
	f.medium = make(chan []byte, mostMedium)
	for range min(f.o.LargeBodyMemory/(16*firstSpool), mostMedium) {
		f.medium <- nil
	}
	return f
}

// Close closes the kept connections. Running fetches continue; their connections are closed when
// they end.
func (f *Fetcher) Close() { f.pool.close() }

// IdleConns counts the kept connections.
func (f *Fetcher) IdleConns() int { return f.pool.len() }

// FailingProxies lists the proxies of requests whose last use failed.
func (f *Fetcher) FailingProxies(now time.Time) []proxy.Failure { return f.proxies.Failing(now) }

// asked is what an exchange needs of its Request until it ends. It is a part of it because each
// fetch allocates an exchange.
type asked struct {
	url                urlnorm.URL
	etag, lastModified string
	userAgent, cookie  string
	lastTry            bool
	beforeWrite        func() error
	received           *atomic.Int64
	special            *special // nil for most
}

// special is what few requests have.
type special struct {
	headers       []Header
	authorization string
	proxies       []proxy.Proxy
	proxyUser     func(name string) (userpass string, ok bool)
	source        netip.Addr

	via   proxy.Proxy // the one that is used now; zero: none
	login string      // "user:password" for it; "": none
}

// exchange is one running fetch.
type exchange struct {
	f        *Fetcher
	ctx      context.Context
	req      asked
	key      connKey
	head     []byte // of the request
	signed   botauth.Signed
	maxBody  int64
	timeout  time.Duration // of the whole fetch
	headTime time.Duration // of the wait for the head
	started  time.Time
	dialled  bool         // a new connection was asked for
	waited   atomic.Int64 // nanoseconds spent waiting for memory
	reserved int64        // bytes taken from Fetcher.large
	bufs     [2]*[]byte   // the memory of RawBody and Body
	spools   []*spool     // files made for them
	medium   [][]byte     // buffers of Fetcher.medium
}

// deadline is the end of the whole fetch.
func (x *exchange) deadline() time.Time {
	return x.started.Add(x.timeout + time.Duration(x.waited.Load()))
}

// earned is the time until which a payload that began at from may continue, given the bytes
// received.
func (x *exchange) earned(from time.Time, received int64) time.Time {
	perByte := float64(time.Second) / float64(x.f.o.MinRate)
	return earlier(from.Add(x.f.o.MinRateAfter+time.Duration(float64(received)*perByte)), x.deadline())
}

// Do fetches req and returns the answer, of whatever status. It blocks until
// the last byte was read and decoded, ctx was cancelled or a limit of time was
// reached. Every error is an *Error.
func (f *Fetcher) Do(ctx context.Context, req Request) (*Response, error) {
	x, err := f.newExchange(ctx, &req)
	if err != nil {
		return nil, err
	}
	resp, err := x.run()
	if err != nil {
		x.free()
		return nil, err
	}
	resp.held = x
	return resp, nil
}

func (f *Fetcher) newExchange(ctx context.Context, req *Request) (*exchange, error) {
	key, err := keyOf(req)
	if err != nil {
		return nil, &Error{Category: Other, Err: err}
	}
	if err := f.checkAddr(netip.AddrPortFrom(req.Addr, key.port)); err != nil {
		return nil, &Error{Category: BlockedAddress, Err: err}
	}
	key.record = key.tls && (f.o.TLSRecord || req.TLSRecord)
	x := &exchange{f: f, ctx: ctx, key: key, maxBody: f.o.MaxBody, started: time.Now(), req: asked{
		url: req.URL, etag: req.ETag, lastModified: req.LastModified, userAgent: req.UserAgent,
		cookie: req.Cookie, lastTry: req.LastTry, beforeWrite: req.BeforeWrite, received: req.Received,
	}}
	if req.MaxBody > 0 {
		x.maxBody = req.MaxBody
	}
	x.timeout, x.headTime = cmp.Or(req.Timeout, f.o.Timeout), cmp.Or(req.HeadTimeout, f.o.HeadTimeout)
	if !plainValue(req.UserAgent) || !plainValue(f.o.UserAgent) {
		return nil, &Error{
			Category: Other,
			Err:      errors.New("the user agent has control characters in it"),
		}
	}
	if err := x.specialise(req); err != nil {
		return nil, &Error{Category: Other, Err: err}
	}
	x.sign()
	if x.head, err = x.requestHead(); err != nil {
		return nil, &Error{Category: Other, Err: err}
	}
	return x, nil
}

// specialise takes over what few requests have.
func (x *exchange) specialise(req *Request) error {
	if len(req.Headers) == 0 && req.Authorization == "" && len(req.Proxies) == 0 &&
		!req.Source.IsValid() {
		return nil
	}
	for _, h := range req.Headers {
		if err := CheckHeader(h.Name, h.Value); err != nil {
			return err
		}
	}
	if !plainValue(req.Authorization) {
		return errors.New("the value of Authorization has control characters in it")
	}
	if err := x.f.checkSource(req); err != nil {
		return err
	}
	x.req.special = &special{
		headers: req.Headers, authorization: req.Authorization, proxies: req.Proxies,
		proxyUser: req.ProxyUser, source: req.Source.Unmap(),
	}
	x.key.route = x.req.special.route()
	return nil
}

// run makes the fetch, by a proxy if there are any.
func (x *exchange) run() (*Response, error) {
	var resp *Response
	var failure *Error
	if s := x.req.special; s == nil || len(s.proxies) == 0 {
		resp, failure = x.once()
	} else {
		resp, failure = x.byProxies()
	}
	if failure != nil {
		return nil, failure
	}
	return resp, nil
}

// once takes a kept connection or dials. A request is made twice in only one case: a kept
// connection refuses its first byte.
func (x *exchange) once() (*Response, *Error) {
	if c := x.f.pool.take(x.key); c != nil {
		c.used = true
		resp, err := x.on(c)
		if err == nil {
			resp.Reused = true
			return resp, nil
		}
		if !errors.Is(err.Err, errNothingWritten) {
			if err.Reused {
				x.f.quirks.note(x.key, noReuse)
			}
			return nil, err
		}
	}
	c, err := x.dial()
	if err != nil {
		return nil, err
	}
	return x.on(c)
}

// mayWrite checks again whether the request may be sent.
func (x *exchange) mayWrite() *Error {
	if x.req.beforeWrite == nil {
		return nil
	}
	if err := x.req.beforeWrite(); err != nil {
		return &Error{Category: Other, Contacted: x.dialled, Err: fmt.Errorf("%w: %w", ErrRefused, err)}
	}
	return nil
}

// on makes the exchange on c and owns c from here: c is kept or closed.
func (x *exchange) on(c *conn) (*Response, *Error) {
	var resp *Response
	var keep bool
	var err *Error
	if c.h2 != nil {
		resp, keep, err = x.http2(c)
	} else {
		resp, keep, err = x.http1(c)
	}
	if err == nil && x.absolute() {
		err = x.saidByProxy(resp)
	}
	if err == nil {
		resp.Conditional = x.conditional()
		err = unasked(resp)
	}
	if err != nil || !keep || x.f.quirks.has(x.key, noReuse) {
		c.close()
	} else {
		x.f.pool.put(c)
	}
	if err != nil {
		return nil, err
	}
	resp.Started, resp.TLS, resp.RequestHead = x.started, c.tls, x.archivedHead()
	if !x.absolute() {
		resp.RemoteAddr = x.key.addr
	}
	if derr := x.decode(resp); derr != nil {
		return nil, derr
	}
	resp.WireBytes = int64(len(resp.RawBody))
	media := mime.Of(resp.Header, resp.Body)
	resp.ContentType, resp.MediaType = media.String(), media.Essence
	return resp, nil
}
