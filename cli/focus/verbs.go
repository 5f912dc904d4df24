package focus

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Verbs are the verbs about topic models.
type Verbs struct {
	Train TrainVerb `cmd:"" help:"Make a topic model of two sets of pages."`
	Score ScoreVerb `cmd:"" help:"Show what a topic model says of pages, or of itself."`
}

// Help gives the examples of the verbs.
func (*Verbs) Help() string { return (*TrainVerb)(nil).Help() }

// Sources is a flag that takes one file or folder or more, as a shell makes them of a pattern.
type Sources []string

// Decode takes all that follows up to the next flag.
func (s *Sources) Decode(ctx *kong.DecodeContext) error {
	for {
		var one string
		if err := ctx.Scan.PopValueInto("file or folder", &one); err != nil {
			return err
		}
		*s = append(*s, one)
		next, isText := ctx.Scan.Peek().Value.(string)
		if !isText || ctx.Scan.Peek().IsEOL() || strings.HasPrefix(next, "-") {
			return nil
		}
	}
}
