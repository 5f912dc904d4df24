package command

import (
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"

	"crawlnode/crawl"
)

// AssetsFlag reads --assets, which may stand alone: then it is any. A word behind it that is no
// policy is the next argument.
type AssetsFlag struct{}

// Decode implements kong.Mapper.
func (AssetsFlag) Decode(from *kong.DecodeContext, target reflect.Value) error {
	policy := crawl.AssetsAny
	switch token := from.Scan.Peek(); {
	case token.Type == kong.FlagValueToken: // behind "="
		if err := policy.UnmarshalText([]byte(fmt.Sprint(token.Value))); err != nil {
			return err
		}
		from.Scan.Pop()
	case token.Type == kong.UntypedToken &&
		policy.UnmarshalText([]byte(fmt.Sprint(token.Value))) == nil:
		from.Scan.Pop()
	}
	target.SetString(string(policy))
	return nil
}

// IsBool says that the flag needs no value.
func (AssetsFlag) IsBool() bool { return true }
