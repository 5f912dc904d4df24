package clusterkeytest

import (
	"testing"

	"crawlnode/security/clusterkey"
)

// New is a fresh key.
func New(t testing.TB) clusterkey.Key {
	t.Helper()
	k, err := clusterkey.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}
