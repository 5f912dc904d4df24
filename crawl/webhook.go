package crawl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
)

// MaxWebhookURL bounds the URL of a webhook, in bytes.
const MaxWebhookURL = 2048

// WebhookTarget is a URL to which events are sent, as --webhook names it. Its path and its query
// may be what lets a caller in, so they are shown nowhere: String leaves them out.
type WebhookTarget struct {
	URL  string
	name string
}

// ParseWebhook reads a target. Its errors do not repeat the text, which may have a password.
func ParseWebhook(text string) (WebhookTarget, error) {
	u, err := url.Parse(text)
	switch {
	case len(text) > MaxWebhookURL:
		return WebhookTarget{}, fmt.Errorf("the URL of a webhook has at most %d bytes, not %d",
			MaxWebhookURL, len(text))
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.Opaque != "":
		return WebhookTarget{}, errors.New(
			"write the URL of a webhook as https://HOST/PATH or http://HOST:PORT/PATH")
	case u.User != nil:
		return WebhookTarget{}, fmt.Errorf(
			"the URL of a webhook at %s has a user or a password: leave them out; "+
				"its receiver knows this node by the signature", u.Host)
	case u.Fragment != "":
		return WebhookTarget{}, fmt.Errorf(
			"the URL of a webhook at %s has a fragment (#...), which is never sent: leave it out", u.Host)
	}
	t := WebhookTarget{URL: text, name: u.Scheme + "://" + u.Host + "/"}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		digest := sha256.Sum256([]byte(text))
		t.name += "...#" + hex.EncodeToString(digest[:4]) // tells several of one host apart
	}
	return t, nil
}

// String is the target without path and query; instead of them it has some digits of the URL's
// digest.
func (t WebhookTarget) String() string { return t.name }

// MarshalText is String, so that logs and documents have no more.
func (t WebhookTarget) MarshalText() ([]byte, error) { return []byte(t.name), nil }
