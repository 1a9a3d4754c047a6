// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

// Reset has the source find out about its tool anew, which may be of another version, as in another container. What is known of the
// GPUs is kept: one that is not listed any more is lost, whoever lists them.
func (s *AMD) Reset() {
	clear(s.refused)
	clear(s.passing)
	clear(s.exceptions)
	s.strikes, s.version, s.listed, s.static, s.retry, s.scale = 0, "", nil, nil, retry{}, scaleUnknown
}

// Reset is that of AMD.
func (s *ROCm) Reset() {
	clear(s.refused)
	s.reads, s.retry = 0, retry{}
}
