package handoff

import (
	"context"

	"crawlnode/handoff/machine"
)

// List tells what this node has, by number. It waits for Run's next turn.
func (d *Driver) List(ctx context.Context) ([]PartStatus, error) {
	reply := make(chan []PartStatus, 1)
	if !d.post(ctx, machine.ListAsked{Reply: reply}) {
		return nil, errEnded
	}
	select {
	case ps := <-reply:
		return ps, nil
	case <-d.done:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
