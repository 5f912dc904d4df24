package tika

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// The defaults of Options and Limits.
const (
	defaultConcurrent = 2
	defaultAnswer     = 32 << 20
	defaultAway       = 30 * time.Second
	defaultHTML       = 8 << 20
)

// maxSaid is how many bytes of a refusal are told, and maxName how many of a file's name are sent.
const (
	maxSaid = 200
	maxName = 200
)

var (
	// ErrAway says that the server has not been reached, or has broken off, now or a moment ago.
	ErrAway = errors.New("tika: the server is away")

	// ErrNoText says that the server has found no text; there may be title and properties.
	ErrNoText = errors.New("tika: no text was found")
)

// Refusal is the answer of a server that does not read a file.
type Refusal struct {
	Status int    // of HTTP
	Said   string // the beginning of its text, on one line; may be empty
}

// Error implements error.
func (r *Refusal) Error() string {
	why := "it answers " + http.StatusText(r.Status)
	switch r.Status {
	case http.StatusNoContent:
		why = "there is nothing in it"
	case http.StatusUnsupportedMediaType:
		why = "its type is not supported"
	case http.StatusUnprocessableEntity:
		why = "it is encrypted, damaged or of an unknown kind"
	case http.StatusInternalServerError:
		why = "reading it failed"
	}
	text := fmt.Sprintf("tika: the file is not read: %s (%d)", why, r.Status)
	if r.Said != "" {
		text += ": " + r.Said
	}
	return text
}

// Options are the options of a Client. The zero value is usable.
type Options struct {
	Concurrent int           // files at once; 0 is 2
	Answer     int64         // bytes of an answer that are read; 0 is 32 MiB
	Away       time.Duration // pause after a server was away; 0 is 30 s

	// Now is the clock by which the pause is measured; nil is time.Now.
	Now func() time.Time
}

// Limits are the limits of one page.
type Limits struct {
	HTML int // bytes of the page's body; 0 is 8 MiB
}

// Client asks one server. Its methods may be called from many goroutines.
type Client struct {
	options Options
	address string // of the resource
	shown   string // the address without a password
	http    *http.Client
	slots   chan struct{} // one element for each file at the server

	mu    sync.Mutex
	until time.Time // the server is left alone until then
}

// New returns a client of the server at an address, such as http://127.0.0.1:9998. It sends
// nothing.
func New(address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The error of Parse repeats the address, and with it a password.
		return nil, errors.New("tika: the server's address is no URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("tika: the server's address %s is not http://HOST:PORT",
			u.Redacted())
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("tika: the server's address %s has a query", u.Redacted())
	}
	if path.Base(u.Path) != "tika" {
		u = u.JoinPath("tika")
	}
	if o.Concurrent <= 0 {
		o.Concurrent = defaultConcurrent
	}
	if o.Answer <= 0 {
		o.Answer = defaultAnswer
	}
	if o.Away <= 0 {
		o.Away = defaultAway
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		options: o,
		address: u.String(),
		shown:   u.Redacted(),
		slots:   make(chan struct{}, o.Concurrent),
		http: &http.Client{
			Transport: &http.Transport{
				Proxy:                  nil,
				DisableCompression:     true, // else a small answer may become a large one
				MaxIdleConnsPerHost:    o.Concurrent,
				MaxConnsPerHost:        o.Concurrent,
				MaxResponseHeaderBytes: 64 << 10,
				IdleConnTimeout:        time.Minute,
				TLSHandshakeTimeout:    10 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}, nil
}

// Close closes the connections that wait for further files.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Read sends a file to the server, and returns the page and whether something was left out of it.
// The media type is the one that the file came with, and its name the last part of its address;
// both may be empty, and tell the server what it cannot see in the file. With ErrNoText the page
// has title and properties at most; with other errors there is none.
func (c *Client) Read(ctx context.Context, body []byte, mediaType, name string, l Limits) (
	html []byte, truncated bool, err error,
) {
	if l.HTML <= 0 {
		l.HTML = defaultHTML
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, false, fmt.Errorf("tika: wait for other files: %w", context.Cause(ctx))
	}
	if err := c.away(); err != nil {
		return nil, false, err
	}
	answer, whole, err := c.ask(ctx, body, mediaType, name)
	if err != nil {
		return nil, false, err
	}
	html, truncated, hasText := rewrite(answer, l.HTML)
	if !hasText {
		err = ErrNoText
	}
	return html, truncated || !whole, err
}

// ask sends the file and reads the answer, or its beginning.
func (c *Client) ask(ctx context.Context, body []byte, mediaType, name string) (
	answer []byte, whole bool, err error,
) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, c.address, bytes.NewReader(body))
	if err != nil {
		return nil, false, fmt.Errorf("tika: %w", err)
	}
	r.GetBody = nil // nothing is sent twice, also on a connection that turns out to be closed
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Content-Type", declared(mediaType))
	if d := disposition(name); d != "" {
		r.Header.Set("Content-Disposition", d)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, false, c.broken(ctx, err)
	}
	defer response.Body.Close()
	switch s := response.StatusCode; {
	case s == http.StatusBadGateway, s == http.StatusServiceUnavailable,
		s == http.StatusGatewayTimeout:
		return nil, false, c.left(fmt.Errorf("%s: it answers %d", c.shown, s))
	case s >= 300 && s < 400:
		return nil, false, &Refusal{s, "to " + oneLine(response.Header.Get("Location"), maxSaid)}
	case s != http.StatusOK:
		said, _ := io.ReadAll(io.LimitReader(response.Body, 4*maxSaid)) // what came is enough
		return nil, false, &Refusal{s, oneLine(string(said), maxSaid)}
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || kind != "text/html" && kind != "application/xhtml+xml" && kind != "text/xml" {
		return nil, false, fmt.Errorf("tika: %s answers with the type %q instead of a page",
			c.shown, oneLine(response.Header.Get("Content-Type"), maxSaid))
	}
	answer, err = io.ReadAll(io.LimitReader(response.Body, c.options.Answer+1))
	if err != nil {
		return nil, false, c.broken(ctx, err)
	}
	if int64(len(answer)) > c.options.Answer {
		return answer[:c.options.Answer], false, nil
	}
	return answer, true, nil
}

// broken is the error of a request that was not answered wholly. Its time may be up: that is the
// file's fault. Else the server is away, or has just broken down, perhaps over this file.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("tika: %s has not answered in time: %w", c.shown, context.Cause(ctx))
	}
	var wrapped *url.Error // its text repeats the address
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return c.left(fmt.Errorf("%s: %w", c.shown, err))
}

// left leaves the server alone for a while.
func (c *Client) left(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = c.options.Now().Add(c.options.Away)
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// away is an error while the server is left alone.
func (c *Client) away() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.until.Sub(c.options.Now()); left > 0 {
		return fmt.Errorf("%w: %s is tried again in %v", ErrAway, c.shown, left.Round(time.Second))
	}
	return nil
}

// declared is the media type that is sent. The server believes all but application/octet-stream,
// with which it looks for itself.
func declared(mediaType string) string {
	kind, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil || !strings.Contains(kind, "/") {
		return "application/octet-stream"
	}
	if kind = mime.FormatMediaType(kind, parameters); kind == "" {
		return "application/octet-stream"
	}
	return kind
}

// disposition is the header that tells a file's name; "" for no name.
func disposition(name string) string {
	name = path.Base("/" + oneLine(strings.ReplaceAll(name, "\\", "/"), maxName))
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	return mime.FormatMediaType("attachment", map[string]string{"filename": name})
}

// oneLine is the beginning of a text, with at most so many bytes, without control characters and
// with spaces for line ends.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	return s
}
