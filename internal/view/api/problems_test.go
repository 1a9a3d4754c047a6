// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
)

func TestWhatIsWrong(t *testing.T) {
	list := decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems"))
	assert.Equal(t, 5, list.Total)
	assert.Equal(t, "gpu_failed", list.Items[0].Kind, "the worst is first")
	assert.Equal(t, "GPU-n2-1", *list.Items[0].GPU)
	assert.Nil(t, list.Items[len(list.Items)-1].GPU)

	page := decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?limit=1"))
	assert.Equal(t, 5, page.Total)
	assert.NotNil(t, page.Next)
	second := decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?limit=1&cursor="+*page.Next))
	assert.Equal(t, list.Items[1], second.Items[0])

	assert.Equal(t, 1, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?cluster=-")).Total)
	assert.Equal(t, 1, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?cluster=gone")).Total, "a cluster that cannot be read is what is wrong")
	assert.Zero(t, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?cluster=cpu")).Total)
	assert.Equal(t, 1, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?severity=error")).Total)
	assert.Equal(t, 5, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?severity=info")).Total)
	assert.Equal(t, 2, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?kind=unreadable&severity=warning")).Total)
	ended := decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?state=ended"))
	assert.Equal(t, 1, ended.Total)
	assert.Equal(t, 720.0, *ended.Items[0].Age)
	assert.Zero(t, decode[view.List[view.Finding]](t, get(t, "/api/v1/gpu/problems?state=ended&cluster=prod")).Total)
	assert.Equal(t, http.StatusNotFound, get(t, "/api/v1/gpu/problems?node=none").Code)
	csv := get(t, "/api/v1/gpu/problems", "Accept", "text/csv").Body.String()
	assert.True(t, strings.HasPrefix(csv, "severity,kind,cluster,node,gpu,index,what,begin,begin_known,end,age_seconds,workloads,detail,consequence,remedy,runbook\nerror,gpu_failed,prod,n2,GPU-n2-1,1,"), csv)
}
