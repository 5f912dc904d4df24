package crawl

import (
	"net/netip"
	"time"
)

// SiteTrouble is what keeps one node from doing what the rules for sites say. The rules are the
// cluster's; secrets, the way to a proxy and addresses are of each node. The zero value is none.
type SiteTrouble struct {
	Secrets []MissingSecret `json:"secrets,omitempty"`
	Proxies []FailingProxy  `json:"proxies,omitempty"`
	Sources []MissingSource `json:"sources,omitempty"`
}

// MissingSecret is a secret that a rule names and the node's file of --secrets does not have.
type MissingSecret struct {
	Secret string `json:"secret"` // its name
	Hosts  int    `json:"hosts"`  // that wait for it on this node
	// Since is when it was noticed; zero: a moment ago.
	Since time.Time `json:"since,omitzero"`
}

// FailingProxy is a proxy that the node cannot use.
type FailingProxy struct {
	Proxy string `json:"proxy"` // as the rules write it, without credentials
	Error string `json:"error"` // of the last try
	// Since is the first of the failures in a row; zero: a moment ago.
	Since time.Time `json:"since,omitzero"`
}

// MissingSource is a source address of a rule that the node's machine does not have.
type MissingSource struct {
	Address netip.Addr `json:"address"`
	Hosts   int        `json:"hosts"` // that wait for it on this node
	// Since is when it was noticed; zero: a moment ago.
	Since time.Time `json:"since,omitzero"`
}
