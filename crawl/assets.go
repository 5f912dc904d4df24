package crawl

import (
	"encoding/json"
	"fmt"
	"strings"
)

// AssetPolicy says which parts of pages (images, scripts, style sheets and what these refer to) are
// fetched with the pages.
type AssetPolicy string

// The policies. An asset is fetched although it is out of scope.
const (
	AssetsOff      AssetPolicy = "off"
	AssetsSameHost AssetPolicy = "same-host" // only on the page's host
	AssetsAny      AssetPolicy = "any"
)

// AssetPolicy returns the policy of the settings.
func (s *Settings) AssetPolicy() AssetPolicy {
	switch {
	case !s.Assets:
		return AssetsOff
	case s.AssetsSameHost:
		return AssetsSameHost
	}
	return AssetsAny
}

// UnmarshalText reads a policy. It was a switch in older configurations; true is any.
func (p *AssetPolicy) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case string(AssetsOff), "false", "no", "0":
		*p = AssetsOff
	case string(AssetsSameHost):
		*p = AssetsSameHost
	case string(AssetsAny), "true", "yes", "on", "1":
		*p = AssetsAny
	default:
		return fmt.Errorf("%q must be off, same-host or any", text)
	}
	return nil
}

// UnmarshalJSON reads a policy, or the true or false of an older node.
func (p *AssetPolicy) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return p.UnmarshalText([]byte(text))
}
