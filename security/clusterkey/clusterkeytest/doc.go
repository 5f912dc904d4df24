// Package clusterkeytest makes cluster keys for tests of other packages.
package clusterkeytest
