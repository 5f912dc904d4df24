package crawl

import (
	"context"
	"errors"
	"fmt"
)

// Role says what an asker may do; each may do all that those before it may.
type Role uint8

// The roles. A token has one of the last three.
const (
	RoleNobody  Role = iota // who shows nothing: the paths that are open to everybody
	RoleRead                // sees everything and changes nothing
	RoleOperate             // pauses, resumes, adds seeds
	RoleAdmin               // stops, changes settings, drains, forgets, revokes, replaces the key
)

var roleNames = [...]string{"nobody", "read", "operate", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole reads the role of a token.
func ParseRole(word string) (Role, error) {
	for r := RoleRead; r <= RoleAdmin; r++ {
		if roleNames[r] == word {
			return r, nil
		}
	}
	return RoleNobody, fmt.Errorf("a role is read, operate or admin, not %.40q", word)
}

// Asker is who asks a node for something through the API.
type Asker struct {
	// ID is that of the token, KeyAsker for the key's own, or "" where none is needed.
	ID   string
	Role Role
	From string // IP address
	// Remote says that the asker came through a network, or could have: the cluster has
	// a key, or the connection is not from this machine.
	Remote bool
}

// KeyAsker is the id of who has the cluster's key itself.
const KeyAsker = "cluster-key"

type askerKey struct{}

// WithAsker says in ctx who asks.
func WithAsker(ctx context.Context, a Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, a)
}

// AskerOf is who asks. Without one it is the node's own program, which may do
// everything.
func AskerOf(ctx context.Context) Asker {
	if a, ok := ctx.Value(askerKey{}).(Asker); ok {
		return a
	}
	return Asker{Role: RoleAdmin}
}

// ErrForbidden is inside an error when it is the asker who may not. The API answers 403.
var ErrForbidden = errors.New("not allowed")

// KeyRotation asks for another key of the cluster.
type KeyRotation struct {
	Key string `json:"key"` // its text, as in its file
}

// RotationOver is the last step of a RotationReport.
const RotationOver = "alone"

// RotationReport is how far the replacement of the cluster's key has come.
type RotationReport struct {
	Fingerprint string `json:"fingerprint"` // of the new key
	// Step is known (all take both keys, once all have confirmed it), used (the new key is
	// sent) or alone (the old one is refused: it is over).
	Step string `json:"step"`
	// Waiting names the members that have not confirmed the step yet.
	Waiting []string `json:"waiting"`
}

// RevokeReport is the answer to a token's revocation.
type RevokeReport struct {
	ID string `json:"id"`
	// Untold names the members that did not hear of it in time. They follow as soon as
	// they can be reached; until then they take the token.
	Untold []string `json:"untold"`
}
