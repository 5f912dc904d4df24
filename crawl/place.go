package crawl

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a node's place: its weight, from 1, and its zone.
const (
	MaxWeight    = 16
	MaxZoneBytes = 32
)

// ErrPlace is inside an error about a weight or a zone that no node can have. The API answers 400.
var ErrPlace = errors.New("not a weight or a zone")

// PlaceChange changes a node's weight, or its zone, or both; nil stays. A zone of "" is none.
type PlaceChange struct {
	Weight *int    `json:"weight,omitempty"`
	Zone   *string `json:"zone,omitempty"`
}

// Check returns an error that says what is out of bounds.
func (c PlaceChange) Check() error {
	if w := c.Weight; w != nil && (*w < 1 || *w > MaxWeight) {
		return fmt.Errorf("%w: a weight is a number from 1 to %d, not %d", ErrPlace, MaxWeight, *w)
	}
	if c.Zone == nil {
		return nil
	}
	switch zone := *c.Zone; {
	case len(zone) > MaxZoneBytes:
		return fmt.Errorf("%w: a zone has at most %d bytes, not %d", ErrPlace, MaxZoneBytes, len(zone))
	case strings.ContainsFunc(zone,
		func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return fmt.Errorf("%w: zone %q is no text: it has characters that cannot be seen", ErrPlace, zone)
	case zone != strings.TrimSpace(zone):
		return fmt.Errorf("%w: zone %q begins or ends with a blank: it would be another zone than %q",
			ErrPlace, zone, strings.TrimSpace(zone))
	}
	return nil
}

// String shows the change in words.
func (c PlaceChange) String() string {
	var out []string
	if c.Weight != nil {
		out = append(out, fmt.Sprintf("weight %d", *c.Weight))
	}
	if c.Zone != nil {
		out = append(out, ZoneText(*c.Zone))
	}
	return strings.Join(out, ", ")
}

// ZoneOf is a zone in a status document.
func ZoneOf(zone string) *string {
	if zone == "" {
		return nil
	}
	return &zone
}

// ZoneText shows a zone in words.
func ZoneText(zone string) string {
	if zone == "" {
		return "no zone"
	}
	return "zone " + zone
}
