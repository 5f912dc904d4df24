// Package rotation replaces the cluster's key while the cluster runs.
//
// A rotation has three steps, and every node takes all of them:
//
//	known  both keys are accepted, the old one is used
//	used   both keys are accepted, the new one is used
//	alone  the new key is used, the old one is refused
//
// Each step is on disk before it is in effect. A node takes the next step once all members of the
// view have confirmed the previous one, so no two members are ever more than one step apart and
// each accepts the key that the other uses. Any node that has all confirmations takes the step: a
// rotation continues when any node ends, and waits while a member is away, until an operator
// forgets that member.
//
//	state.go    State: the steps, which of two rotations wins, who has to confirm: pure
//	rotator.go  Rotator: performs the steps, asks the members, answers them
//
// # Goroutines and queues
//
// Run is one goroutine. While a rotation is under way it asks all members twice a second; a round
// starts one goroutine for each and waits for them. The other methods may be called from anywhere.
// There is one rotation at a time: a second one is refused.
//
// The package knows neither calls between nodes nor gossip: package node transmits the questions,
// and passes in the functions to call after a change of the keys.
package rotation
