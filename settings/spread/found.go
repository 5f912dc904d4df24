package spread

import (
	"time"

	"crawlnode/settings/crawldoc"
)

// Found makes the founder's settings those of the cluster: newer than those that
// a joiner has begun with, so that these never win, even if the joiner is seeded first.
// On any other node it does nothing.
func (s *Spreader) Found() error {
	if !s.founding() {
		return nil
	}
	_, err := s.o.Document.Change(
		func(d *crawldoc.Document) *crawldoc.Document { return d.With(d.Settings, s.o.Self, time.Now()) })
	s.o.Cluster.Changed()
	return err
}

// founding reports whether this node is a founder whose settings are not the
// cluster's yet. It sends its document to no member before they are.
func (s *Spreader) founding() bool {
	v := s.o.Cluster.View()
	if v == nil || s.o.document().Version > 0 {
		return false
	}
	self, _ := v.Member(s.o.Self)
	return self.Since == 1 && !s.o.Cluster.Founded()
}
