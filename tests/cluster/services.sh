# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The services of a cluster: how each is configured, started, found ready and stopped. Runs inside the cluster's
# namespaces, where its ports and paths are its own: hence fixed numbers. optional.sh has those that are not always there.

services=(etcd kube-apiserver containerd kubelet kube-controller-manager kube-scheduler kube-proxy prometheus)
node_name=node1
node_ip=10.244.0.1
pod_cidr=10.244.0.0/24
service_cidr=10.96.0.0/24
api_service_ip=10.96.0.1
# Where kubelet and kube-controller-manager look for FlexVolume drivers; both make it when it is missing.
volume_plugins=/run/volume-plugins

if [ "$dir" = /run/cluster ]; then
	export PATH=/run/assets:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	export KUBECONFIG=$dir/kubeconfig HOME=/run
	unset TMPDIR # a folder of the machine
fi
conf=$dir/config
. "$here/optional.sh"

# certificate NAME SUBJECT [SUBJECT-ALT-NAMES]
certificate()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "$2" \
		-CA "$conf/ca.crt" -CAkey "$conf/ca.key" -addext basicConstraints=CA:FALSE \
		${3:+-addext "subjectAltName=$3"} -keyout "$conf/$1.key" -out "$conf/$1.crt" 2>/dev/null
}

make_certificates()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=cluster-ca \
		-addext keyUsage=critical,keyCertSign,cRLSign -keyout "$conf/ca.key" -out "$conf/ca.crt" 2>/dev/null
	certificate apiserver /CN=kube-apiserver "IP:127.0.0.1,IP:$node_ip,IP:$api_service_ip,$(printf 'DNS:%s,' localhost \
		kubernetes kubernetes.default kubernetes.default.svc)DNS:kubernetes.default.svc.cluster.local"
	certificate apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
	certificate kubelet "/O=system:nodes/CN=system:node:$node_name" "IP:$node_ip,IP:127.0.0.1,DNS:$node_name"
	openssl ecparam -name prime256v1 -genkey -noout -out "$conf/service-account.key"
}

# kubeconfig NAME TOKEN FILE
kubeconfig()
{
	(
		umask 077
		cat >"$3" <<-END
			apiVersion: v1
			kind: Config
			clusters:
			- name: cluster
			  cluster:
			    server: https://127.0.0.1:6443
			    certificate-authority-data: $(base64 -w 0 <"$conf/ca.crt")
			users:
			- name: $1
			  user: {token: $2}
			contexts:
			- name: cluster
			  context: {cluster: cluster, user: "$1"}
			current-context: cluster
		END
	)
}

# user NAME GROUPS FILE: a token for it and a kubeconfig with it.
user()
{
	local token
	token=$(openssl rand -hex 16)
	echo "$token,$1,$1,\"$2\"" >>"$conf/tokens.csv"
	kubeconfig "$1" "$token" "$3"
	[ "$1" != admin ] || (umask 077 && printf %s "$token" >"$dir/admin.token")
}

make_configuration()
{
	local cgroup
	read -r cgroup <"$dir/cgroup"
	: >"$conf/resolv.conf"
	user admin system:masters "$dir/kubeconfig"
	user system:kube-controller-manager "" "$conf/kube-controller-manager.kubeconfig"
	user system:kube-scheduler "" "$conf/kube-scheduler.kubeconfig"
	user system:kube-proxy "" "$conf/kube-proxy.kubeconfig"
	user "system:node:$node_name" system:nodes "$conf/kubelet.kubeconfig"
	# native copies files and so needs no overlay in overlay. Without CAP_SYS_RESOURCE nobody may lower oom_score_adj.
	cat >"$conf/containerd.toml" <<-END
		version = 2
		root = "$dir/containerd"
		state = "/run/containerd"
		[grpc]
		  address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "/run/containerd-opt"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "memtamer.test/actor:1"
		  restrict_oom_score_adj = true
		  [plugins."io.containerd.grpc.v1.cri".containerd]
		    snapshotter = "native"
		    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		      runtime_type = "io.containerd.runc.v2"
		      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		        SystemdCgroup = false
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "/usr/lib/cni"
		    conf_dir = "$conf/cni"
	END
	mkdir "$conf/cni"
	# Without isDefaultGateway pods have no route to Services.
	cat >"$conf/cni/10-cluster.conflist" <<-END
		{"cniVersion": "0.4.0", "name": "cluster", "plugins": [
		  {"type": "bridge", "bridge": "kb0", "isDefaultGateway": true, "hairpinMode": true, "ipMasq": false,
		   "ipam": {"type": "host-local", "dataDir": "/run/cni", "ranges": [[{"subnet": "$pod_cidr"}]]}},
		  {"type": "portmap", "capabilities": {"portMappings": true}}]}
	END
	# Images come from no registry, so they must never be collected to make room.
	cat >"$conf/kubelet.yaml" <<-END
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: cgroupfs
		cgroupRoot: /$cgroup
		enforceNodeAllocatable: []
		failSwapOn: false
		failCgroupV1: false
		makeIPTablesUtilChains: false
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: $conf/ca.crt}
		authorization: {mode: Webhook}
		tlsCertFile: $conf/kubelet.crt
		tlsPrivateKeyFile: $conf/kubelet.key
		resolvConf: $conf/resolv.conf
		podLogsDir: $dir/pod-logs
		volumePluginDir: $volume_plugins
		evictionHard: {memory.available: 50Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1%}
		imageGCHighThresholdPercent: 100
	END
	# Labels as kube-prometheus has them: job kubelet, metrics_path, node.
	cat >"$conf/prometheus.yml" <<-END
		global: {scrape_interval: 5s}
		scrape_configs:
	END
	scrape kubelet "$node_ip:10250" /metrics /metrics/cadvisor /metrics/resource
	scrape apiserver 127.0.0.1:6443 /metrics
	scrape kube-scheduler 127.0.0.1:10259 /metrics /metrics/resources
}

# scrape JOB ADDRESS PATH...
scrape()
{
	local job=$1 address=$2 path
	shift 2
	for path in "$@"; do
		cat >>"$conf/prometheus.yml" <<-END
			- job_name: $job$path
			  scheme: https
			  metrics_path: $path
			  authorization: {credentials_file: $dir/admin.token}
			  tls_config: {insecure_skip_verify: true}
			  static_configs:
			  - targets: ["$address"]
			    labels: {job: $job, metrics_path: $path, node: $node_name}
		END
	done
}

# command_of NAME: in the array command.
command_of()
{
	case $1 in
	etcd)
		# In memory: it syncs each write, and a test's disk is not what is tested.
		command=(etcd --name node1 --data-dir /run/etcd --listen-client-urls http://127.0.0.1:2379
			--advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
			--initial-advertise-peer-urls http://127.0.0.1:2380
			--initial-cluster node1=http://127.0.0.1:2380 --quota-backend-bytes 8589934592)
		;;
	kube-apiserver)
		# shutdown-send-retry-after: else it waits a minute for watches to end before it ends itself.
		command=(kube-apiserver --shutdown-send-retry-after --etcd-servers http://127.0.0.1:2379
			--bind-address 0.0.0.0 --secure-port 6443 --advertise-address "$node_ip"
			--tls-cert-file "$conf/apiserver.crt" --tls-private-key-file "$conf/apiserver.key"
			--client-ca-file "$conf/ca.crt" --token-auth-file "$conf/tokens.csv"
			--authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged
			--service-account-issuer https://kubernetes.default.svc
			--service-account-key-file "$conf/service-account.key"
			--service-account-signing-key-file "$conf/service-account.key"
			--service-cluster-ip-range "$service_cidr" --kubelet-preferred-address-types InternalIP
			--kubelet-client-certificate "$conf/apiserver-kubelet-client.crt"
			--kubelet-client-key "$conf/apiserver-kubelet-client.key"
			--kubelet-certificate-authority "$conf/ca.crt")
		[ ! -e "$conf/audit.yaml" ] ||
			command+=(--audit-policy-file "$conf/audit.yaml" --audit-log-path "$dir/logs/audit.log")
		;;
	containerd)
		command=(containerd --config "$conf/containerd.toml")
		;;
	kubelet)
		# Without --containerd cAdvisor has no series of single containers.
		command=(kubelet --config "$conf/kubelet.yaml" --kubeconfig "$conf/kubelet.kubeconfig"
			--root-dir "$dir/kubelet" --node-ip "$node_ip" --hostname-override "$node_name"
			--containerd /run/containerd/containerd.sock)
		;;
	kube-controller-manager)
		command=(kube-controller-manager --leader-elect=false --bind-address 127.0.0.1
			--kubeconfig "$conf/$1.kubeconfig" --authentication-kubeconfig "$conf/$1.kubeconfig"
			--authorization-kubeconfig "$conf/$1.kubeconfig" --use-service-account-credentials
			--flex-volume-plugin-dir "$volume_plugins"
			--service-account-private-key-file "$conf/service-account.key" --root-ca-file "$conf/ca.crt"
			--cluster-signing-cert-file "$conf/ca.crt" --cluster-signing-key-file "$conf/ca.key")
		;;
	kube-scheduler)
		command=(kube-scheduler --leader-elect=false --bind-address 127.0.0.1
			--kubeconfig "$conf/$1.kubeconfig" --authentication-kubeconfig "$conf/$1.kubeconfig"
			--authorization-kubeconfig "$conf/$1.kubeconfig")
		;;
	kube-proxy)
		# masquerade-all: an answer between two pods of one bridge would else not pass the rules that rewrite it back.
		command=(kube-proxy --kubeconfig "$conf/$1.kubeconfig" --proxy-mode nftables --masquerade-all
			--cluster-cidr "$pod_cidr" --hostname-override "$node_name" --conntrack-max-per-core 0
			--conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0
			--healthz-bind-address 127.0.0.1:10256 --metrics-bind-address 127.0.0.1:10249)
		;;
	prometheus)
		command=(prometheus --config.file "$conf/prometheus.yml" --storage.tsdb.path "$dir/prometheus"
			--web.listen-address 0.0.0.0:9090 --web.enable-lifecycle)
		;;
	*) command_of_optional "$1" ;;
	esac
}

# answers PORT [PATH]: somebody accepts there, and answers that path with 200.
answers()
(
	{ exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || exit 1
	[ -n "${2-}" ] || exit 0
	printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
	read -r -t 5 _ status _ <&3 && [ "$status" = 200 ]
)

is_ready() # NAME
{
	case $1 in
	etcd) answers 2379 /health ;;
	kube-apiserver) kubectl get --raw /readyz ;;
	containerd) ctr --address /run/containerd/containerd.sock version ;;
	kubelet) answers 10248 /healthz ;;
	kube-controller-manager) answers 10257 ;;
	kube-scheduler) answers 10259 ;;
	kube-proxy) answers 10256 /healthz ;;
	prometheus) answers 9090 /-/ready ;;
	*) is_optional_ready "$1" ;;
	esac
}

launch_service() # NAME
{
	local -a command
	command_of "$1"
	! pid_of "$dir/services/$1.pid" >/dev/null || return 0
	setsid "${command[@]}" </dev/null >>"$dir/logs/$1.log" 2>&1 &
	write_pid "$dir/services/$1.pid" $!
}

ready_or_gone()
{
	is_ready "$1" || ! pid_of "$dir/services/$1.pid"
}

await_service() # NAME
{
	if ! wait_until 120 ready_or_gone "$1" || ! pid_of "$dir/services/$1.pid" >/dev/null; then
		tail -n 20 "$dir/logs/$1.log" >&2
		fail "$1 does not start"
	fi
}

start_service() # NAME
{
	! is_optional "$1" || prepare_optional "$1"
	launch_service "$1"
	await_service "$1"
}

# stop_service NAME SIGNAL: returns when it has ended. The API server frees its port only then.
stop_service()
{
	local pid
	pid=$(pid_of "$dir/services/$1.pid") || return 0
	kill "-$2" "$pid"
	kill -CONT "$pid" 2>/dev/null || true # it may have been paused
	wait_until 120 not pid_of "$dir/services/$1.pid" || fail "$1 does not end"
}
