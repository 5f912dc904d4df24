package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"crawlnode/crawl"
)

const (
	// requestTime bounds one request with its answer.
	requestTime = 15 * time.Second
	// answerBytes of an answer are read, so that its connection can be used again.
	answerBytes = 64 << 10
	// longestRetryAfter is the longest wait that an answer can ask for.
	longestRetryAfter = time.Hour
	// errorBytes bound the text of an error: it may repeat what the other side has sent.
	errorBytes = 300
)

// Headers of a request, besides Content-Type and User-Agent.
const (
	// SignatureHeader is "sha256=" and the HMAC-SHA256 of the body in lower-case hexadecimal.
	SignatureHeader = "X-Crawlnode-Signature"
	// EventHeader is the code of the event, DeliveryHeader its uid, NodeHeader the name of the node
	// that reports it. The signature does not cover them: the first two are in the body too.
	EventHeader    = "X-Crawlnode-Event"
	DeliveryHeader = "X-Crawlnode-Delivery"
	NodeHeader     = "X-Crawlnode-Node"
)

// errNoSecret is why nothing is sent that should be signed.
var errNoSecret = errors.New("the secret \"webhook\" is not in the file of --secrets: " +
	"add a line webhook=VALUE, and send the node SIGHUP")

// newClient makes a client for one receiver. It verifies certificates with the system's roots,
// follows no redirect, and obeys HTTP_PROXY and the like, as it is the operator's own traffic.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           1,
			MaxConnsPerHost:        1,
			MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout:        90 * time.Second,
		},
	}
}

// refusal is an answer other than 2xx.
type refusal struct {
	status int
	after  time.Duration // what the answer asked to wait; 0: nothing
}

func (r *refusal) Error() string {
	if r.status >= 300 && r.status < 400 {
		return fmt.Sprintf(
			"it answers %d, a redirect, which is not followed: give the URL that takes events", r.status)
	}
	return fmt.Sprintf("it answers %d", r.status)
}

// sign is the value of SignatureHeader.
func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// post sends one event. The error is a *refusal when there was an answer.
func (r *receiver) post(ctx context.Context, e *crawl.Event, body []byte) error {
	secret, needed := r.o.Secret()
	if needed && secret == "" {
		return errNoSecret
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.target.URL,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", r.o.UserAgent)
	h.Set(EventHeader, e.Code)
	h.Set(DeliveryHeader, e.UID)
	h.Set(NodeHeader, r.o.Node)
	if secret != "" {
		h.Set(SignatureHeader, sign(secret, body))
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, answerBytes) // what it says does not matter
	_ = answer.Body.Close()
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil
	}
	return &refusal{answer.StatusCode, retryAfter(answer.Header.Get("Retry-After"), time.Now())}
}

// withoutURL is an error of a client without the URL, whose path may be a secret.
func withoutURL(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// retryAfter reads a Retry-After: seconds, or a date. 0: there is none, or none that can be read.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	seconds, err := strconv.ParseUint(text, 10, 32)
	if err == nil || errors.Is(err, strconv.ErrRange) { // then it is the largest
		return min(time.Duration(seconds)*time.Second, longestRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), longestRetryAfter)
}

// printable is an error in one line that a terminal can show.
func printable(err error) string {
	text := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, err.Error())
	if len(text) > errorBytes {
		text = strings.ToValidUTF8(text[:errorBytes], "") + "..."
	}
	return text
}
