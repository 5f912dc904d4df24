package integration

import "time"

// spacedSeeds is how many seeds there are for one in which the nodes space requests to the four
// addresses of the web (--ip-delay).
const spacedSeeds = 5

// space chooses it. It draws nothing, so it changes no other choice of a seed.
func (s *schedule) space(seed uint64) {
	if seed%spacedSeeds == 0 {
		s.spaced = 100 * time.Millisecond
	}
}
