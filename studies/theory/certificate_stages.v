(* certificate_stages.v: the order of a one-step method of stages, for Coq: `coqc FILE` accepts it or does not. It needs
   Coq's standard library alone. `trotter schemes --certificate coq --scheme NAME` writes it with another scheme in the
   two places that lie between the words `begin` and `end`; all else is the same for every scheme.

   To know what is proved, read the definitions down to the word PROOFS, and the theorems at the end, which say that
   every rooted tree with at most `claimed` vertices meets its order condition, that the tree `failing`, which has
   one vertex more, does not, and that the order of the method is `claimed` at least: its step and the solution agree in
   h, ..., h^claimed, whatever the derivatives of the field are. The proofs need no reading: Coq has checked them.

   Steps and solutions are taken as series in h. That those of a smooth field are as close as their series is Taylor's
   theorem; that the order is no higher, because there are fields on which the tree `failing` alone counts, is Butcher's
   (Hairer, Norsett, Wanner 1993, "Solving Ordinary Differential Equations I", theorems II.2.11 and II.2.13; for several
   colours Araujo, Murua, Sanz-Serna 1997). This file proves neither. *)
Require Import QArith List Lia Permutation Factorial.
Import ListNotations.
Open Scope Q_scope.

(* ==== DEFINITIONS ==== *)

(* The equation is y' = f(y), where f is the sum of one field for each colour. *)
(* begin *)
Inductive colour := H.
Definition colours : list colour := [H].
(* end *)

(* A rooted tree: the colour of its root, and the trees that hang there, in any order. *)
Inductive tree := Node (root : colour) (subtrees : list tree).

(* The number of vertices. *)
Fixpoint order (t : tree) : nat :=
  match t with Node _ f => S (list_sum (map order f)) end.

(* The density gamma: the product of the orders of the tree and of all its subtrees. *)
Fixpoint density (t : tree) : positive :=
  match t with
  | Node _ f => Pos.of_nat (order t) * fold_right Pos.mul 1%positive (map density f)
  end.

(* A method is a list of stages. Stage i computes k_i, h times the field of its colour, at y + sum_j a_ij k_j; then y' = y
   + sum_i b_i k_i. The row of a stage has a_i1, a_i2, ...; what it does not write is 0. *)
Record stage := Stage { calls : colour; row : list Q; b : Q }.

(* begin *)
Definition scheme : list stage :=
  [ Stage H [] (1 # 6);
    Stage H [1 # 2] (1 # 3);
    Stage H [0 # 1; 1 # 2] (1 # 3);
    Stage H [0 # 1; 0 # 1; 1 # 1] (1 # 6) ].
Definition claimed : nat := 4.
Definition numbers : list nat := [1; 1; 2; 4]%nat.
Definition failing : tree := Node H [Node H []; Node H []; Node H []; Node H []].
(* end *)

Definition same (x y : colour) : {x = y} + {x <> y}.
Proof. decide equality. Defined.

(* sum_j r_j v_j *)
Fixpoint dot (r v : list Q) : Q :=
  match r, v with x :: r', y :: v' => x * y + dot r' v' | _, _ => 0 end.

Definition product (v : list Q) : Q := fold_right Qmult 1 v.

(* What each stage has on a tree: 0 if it is not of the root's colour, else the product over the subtrees s of sum_j a_ij
   v_j, where v is what the stages have on s. *)
Fixpoint values (t : tree) : list Q :=
  match t with Node c f =>
    let v := map values f in
    map (fun s => if same (calls s) c then product (map (dot (row s)) v) else 0) scheme
  end.

(* The elementary weight of a tree, sum_i b_i v_i. *)
Definition weight (t : tree) : Q := dot (map b scheme) (values t).

Definition condition (t : tree) : Prop := weight t == 1 # density t.

(* ---- What order means: powers of h in the step and in the solution. ---- *)

(* Vectors: what can be added, and multiplied by fractions. *)
Record space := Space {
  V :> Type; zero : V; plus : V -> V -> V; scale : Q -> V -> V;
  plus_comm : forall u v, plus u v = plus v u;
  plus_assoc : forall u v w, plus u (plus v w) = plus (plus u v) w;
  plus_zero : forall v, plus zero v = v;
  scale_plus : forall q u v, scale q (plus u v) = plus (scale q u) (scale q v);
  scale_sum : forall p q v, scale (p + q) v = plus (scale p v) (scale q v);
  scale_times : forall p q v, scale (p * q) v = scale p (scale q v);
  scale_one : forall v, scale 1 v = v;
  scale_zero : forall v, scale 0 v = zero;
  scale_equal : forall p q v, p == q -> scale p v = scale q v }.
Arguments zero {_}. Arguments plus {_}. Arguments scale {_}.

(* A field at a point y: for each colour its derivatives there, of which the m-th takes m vectors, and is linear in each. *)
Record field (W : space) := Field {
  derivative : colour -> list W -> W;
  linear : forall c l l' p u q v,
    derivative c (l ++ plus (scale p u) (scale q v) :: l') =
    plus (scale p (derivative c (l ++ u :: l'))) (scale q (derivative c (l ++ v :: l'))) }.
Arguments derivative {_}. Arguments linear {_}.

Definition sum {W : space} (l : list W) : W := fold_right plus zero l.
Fixpoint combine {W : space} (r : list Q) (v : list W) : W :=
  match r, v with x :: r', y :: v' => plus (scale x y) (combine r' v') | _, _ => zero end.

(* All lists of numbers above 0 whose sum is n; `most` is n at least. *)
Fixpoint parts (most n : nat) : list (list nat) :=
  match most, n with
  | _, O => [[]]
  | O, _ => []
  | S m, _ => flat_map (fun k => map (cons k) (parts m (n - k))) (seq 1 n)
  end.

(* With u = u_1 h + u_2 h^2 + ..., the factor of h^n in Taylor's series of the field at y + u: the sum over m, and over all
   n_1 + ... + n_m = n, of the m-th derivative of u_n1, ..., u_nm, over m!. *)
Definition taylor {W : space} (f : field W) (c : colour) (u : nat -> W) (n : nat) : W :=
  sum (map (fun p => scale (1 # Pos.of_nat (fact (length p))) (derivative f c (map u p)))
           (parts n n)).

(* K n has for each stage the factor of h^n in k_i = h f(y + sum_j a_ij k_j). *)
Definition stages_of {W : space} (f : field W) (K : nat -> list W) : Prop :=
  forall n, K (S n) =
    map (fun s => taylor f (calls s) (fun k => combine (row s) (K k)) n) scheme.

(* Y n is the factor of h^n in the solution y + Y of y' = f(y), f the sum over the colours. *)
Definition solution_of {W : space} (f : field W) (Y : nat -> W) : Prop :=
  forall n, scale (inject_Z (Z.of_nat (S n))) (Y (S n)) = sum (map (fun c => taylor f c Y n) colours).

(* ==== PROOFS ==== *)

(* ---- Whole numbers: D is a common denominator of all coefficients, so D^n weight(t) is whole for a tree of order n. ---- *)

Definition coefficients : list Q := map b scheme ++ concat (map row scheme).
Definition D : Z :=
  Eval vm_compute in fold_right (fun q d => Z.lcm (Zpos (Qden q)) d) 1%Z coefficients.
Definition times_D (q : Q) : Z := (Qnum q * (D / Zpos (Qden q)))%Z.
Definition rows_D : list (colour * list Z) :=
  Eval vm_compute in map (fun s => (calls s, map times_D (row s))) scheme.
Definition b_D : list Z := Eval vm_compute in map times_D (map b scheme).

Fixpoint dotZ (r v : list Z) : Z :=
  match r, v with x :: r', y :: v' => (x * y + dotZ r' v')%Z | _, _ => 0%Z end.
Fixpoint timesZ (u v : list Z) : list Z :=
  match u, v with x :: u', y :: v' => (x * y)%Z :: timesZ u' v' | _, _ => [] end.
Definition productZ (v : list Z) : Z := fold_right Z.mul 1%Z v.

(* ---- All that a tree's parent needs of it: its order, its density, and what each stage reads of it. ---- *)

Record summary := Summary { size : nat; gamma : positive; reads : list Z }.

Definition total (f : list summary) : nat := list_sum (map size f).
Definition gammas (f : list summary) : positive :=
  Pos.of_nat (S (total f)) * fold_right Pos.mul 1%positive (map gamma f).
Definition column (c : colour) (f : list summary) : list Z :=
  fold_right timesZ (map (fun s => if same (fst s) c then 1%Z else 0%Z) rows_D) (map reads f).
Definition node (c : colour) (f : list summary) : summary :=
  let v := column c f in
  Summary (S (total f)) (gammas f) (map (fun s => dotZ (snd s) v) rows_D).
Fixpoint summarise (t : tree) : summary :=
  match t with Node c f => node c (map summarise f) end.
Definition valuesZ (t : tree) : list Z :=
  match t with Node c f => column c (map summarise f) end.

(* All multisets of members of l with k vertices together: j times the first member, j = 0, 1, ..., and some of the rest. *)
Fixpoint forests (l : list summary) (k : nat) : list (list summary) :=
  match k, l with
  | O, _ => [[]]
  | _, [] => []
  | _, t :: l' =>
      flat_map (fun j => if (j * size t <=? k)%nat
                         then map (app (repeat t j)) (forests l' (k - j * size t)) else [])
               (seq 0 (S k))
  end.

(* All trees with at most n vertices. *)
Fixpoint summaries (n : nat) : list summary :=
  match n with
  | O => []
  | S m => let l := summaries m in
           l ++ flat_map (fun f => map (fun c => node c f) colours) (forests l m)
  end.

(* gamma(t) D^n weight(t) = D^n for the tree of n vertices with this root and these subtrees. *)
Definition meets (c : colour) (f : list summary) : bool :=
  (Zpos (gammas f) * dotZ b_D (column c f) =? D ^ Z.of_nat (S (total f)))%Z.
Definition all_meet (m : nat) : bool :=
  forallb (fun f => forallb (fun c => meets c f) colours) (forests (summaries m) m).

(* ---- Whole numbers and fractions say the same. ---- *)

Lemma tree_induction (P : tree -> Prop) :
  (forall c f, Forall P f -> P (Node c f)) -> forall t, P t.
Proof.
  intros step. fix IH 1. intros [c f]. apply step.
  induction f; constructor; [ apply IH | assumption ].
Qed.

Definition power (k : nat) : Q := inject_Z (D ^ Z.of_nat k).
Definition scales (k : nat) (z : Z) (q : Q) : Prop := inject_Z z == power k * q.
Definition scaled (q : Q) : Prop := scales 1 (times_D q) q.

Lemma power_add i k : power (i + k) == power i * power k.
Proof.
  unfold power. rewrite Nat2Z.inj_add, Z.pow_add_r, inject_Z_mult by lia. reflexivity.
Qed.

Lemma power_positive k : ~ power k == 0.
Proof.
  unfold power. change 0 with (inject_Z 0). rewrite inject_Z_injective.
  apply Z.pow_nonzero; [ vm_compute; discriminate | lia ].
Qed.

Lemma all_scaled : Forall scaled coefficients.
Proof.
  assert (E : forallb (fun q => Qeq_bool (inject_Z (times_D q)) (power 1 * q)) coefficients = true)
    by (vm_compute; reflexivity).
  rewrite forallb_forall in E. apply Forall_forall. intros q I. now apply Qeq_bool_iff, E.
Qed.

Lemma row_scaled s : In s scheme -> Forall scaled (row s).
Proof.
  intro I. eapply incl_Forall; [ | apply all_scaled ]. intros q J.
  apply in_or_app. right. apply in_concat. exists (row s). now split; [ apply in_map | ].
Qed.

Lemma b_scaled : Forall scaled (map b scheme).
Proof. eapply incl_Forall; [ | apply all_scaled ]. intros q J. now apply in_or_app; left. Qed.

Lemma rows_D_is : rows_D = map (fun s => (calls s, map times_D (row s))) scheme.
Proof. vm_compute. reflexivity. Qed.

Lemma b_D_is : b_D = map times_D (map b scheme).
Proof. vm_compute. reflexivity. Qed.

Lemma dot_scales r zv v k :
  Forall scaled r -> Forall2 (scales k) zv v -> scales (S k) (dotZ (map times_D r) zv) (dot r v).
Proof.
  unfold scaled, scales. intros R V. revert r R.
  induction V as [ | x y zv v E V IH]; intros [ | a r] R; simpl;
    try (change (inject_Z 0) with 0; ring).
  apply Forall_cons_iff in R. destruct R as [A R].
  rewrite inject_Z_plus, inject_Z_mult, A, E, IH by assumption.
  change (S k) with (1 + k)%nat. rewrite power_add. ring.
Qed.

Lemma timesZ_map (A : Type) (g h : A -> Z) l :
  timesZ (map g l) (map h l) = map (fun s => (g s * h s)%Z) l.
Proof. induction l; simpl; congruence. Qed.

Lemma column_map c f :
  column c (map summarise f) =
  map (fun s => (productZ (map (fun t => dotZ (snd s) (valuesZ t)) f)
                 * if same (fst s) c then 1 else 0)%Z) rows_D.
Proof.
  unfold column. induction f as [ | t f IH].
  - apply map_ext. intro s. unfold productZ. simpl. now destruct (same (fst s) c).
  - destruct t as [d g]. cbn [map fold_right summarise node reads]. rewrite IH, timesZ_map.
    apply map_ext. intro s. unfold productZ. cbn [map fold_right valuesZ]. ring.
Qed.

Lemma Forall2_maps (A B C : Type) (R : B -> C -> Prop) (g : A -> B) (h : A -> C) l :
  (forall x, In x l -> R (g x) (h x)) -> Forall2 R (map g l) (map h l).
Proof. induction l; simpl; constructor; auto. Qed.

Lemma values_scale : forall t, Forall2 (scales (pred (order t))) (valuesZ t) (values t).
Proof.
  apply tree_induction. intros c f IH. cbn [valuesZ values order pred].
  rewrite column_map, rows_D_is, map_map. apply Forall2_maps. intros s I. cbn [fst snd].
  pose proof (row_scaled s I) as R. clear I. destruct (same (calls s) c).
  - induction IH as [ | t f T F IHF]; unfold productZ, product, scales in *; [ reflexivity | ].
    cbn [map fold_right]. rewrite Z.mul_1_r in *. rewrite inject_Z_mult, IHF.
    pose proof (dot_scales _ _ _ _ R T) as E. unfold scales in E. rewrite E.
    replace (S (pred (order t))) with (order t) by now destruct t.
    change (list_sum (order t :: map order f)) with (order t + list_sum (map order f))%nat.
    rewrite power_add. ring.
  - unfold scales. rewrite Z.mul_0_r. change (inject_Z 0) with 0. ring.
Qed.

Lemma weight_scales t : scales (order t) (dotZ b_D (valuesZ t)) (weight t).
Proof.
  unfold weight. rewrite b_D_is.
  replace (order t) with (S (pred (order t))) by now destruct t.
  apply dot_scales; [ apply b_scaled | apply values_scale ].
Qed.

Lemma size_is : forall t, size (summarise t) = order t.
Proof.
  apply tree_induction. intros c f IH. cbn [summarise node size order]. f_equal.
  unfold total. rewrite map_map. f_equal. apply map_ext_Forall, IH.
Qed.

Lemma total_is f : total (map summarise f) = list_sum (map order f).
Proof. unfold total. rewrite map_map. f_equal. apply map_ext, size_is. Qed.

Lemma gamma_is : forall t, gamma (summarise t) = density t.
Proof.
  apply tree_induction. intros c f IH. cbn [summarise node gamma density order].
  unfold gammas. rewrite total_is, map_map. do 2 f_equal. apply map_ext_Forall, IH.
Qed.

Lemma meets_is c f : meets c (map summarise f) = true <-> condition (Node c f).
Proof.
  unfold condition, meets.
  pose proof (weight_scales (Node c f)) as W. unfold scales in W. cbn [valuesZ] in W.
  pose proof (gamma_is (Node c f)) as G. cbn [summarise node gamma] in G.
  pose proof (size_is (Node c f)) as N. cbn [summarise node size] in N.
  rewrite N, G, Z.eqb_eq, <- inject_Z_injective, inject_Z_mult, W.
  fold (power (order (Node c f))). pose proof (power_positive (order (Node c f))) as P.
  set (p := power _) in *. set (w := weight _) in *. set (d := density _) in *.
  assert (I : inject_Z (Zpos d) * (1 # d) == 1) by (unfold Qeq; simpl; lia).
  assert (M : ~ inject_Z (Zpos d) == 0) by (unfold Qeq; simpl; lia).
  split; intro E.
  - apply (Qmult_inj_l _ _ _ M). apply (Qmult_inj_l _ _ _ P). rewrite I.
    rewrite <- E at 2. ring.
  - rewrite E. transitivity (p * (inject_Z (Zpos d) * (1 # d))); [ ring | rewrite I; ring ].
Qed.

(* ---- The order of subtrees says nothing. ---- *)

Lemma sum_permuted l l' : Permutation l l' -> list_sum l = list_sum l'.
Proof. unfold list_sum. induction 1; simpl; lia. Qed.

Lemma gammas_permuted l l' :
  Permutation l l' -> fold_right Pos.mul 1%positive l = fold_right Pos.mul 1%positive l'.
Proof. induction 1; simpl; lia. Qed.

Lemma timesZ_swap : forall u v w, timesZ u (timesZ v w) = timesZ v (timesZ u w).
Proof. induction u; destruct v, w; simpl; try reflexivity. rewrite IHu. f_equal. ring. Qed.

Lemma column_permuted c f g : Permutation f g -> column c f = column c g.
Proof.
  unfold column. intro P. apply (Permutation_map reads) in P. revert P.
  generalize (map reads f) (map reads g).
  generalize (map (fun s => if same (fst s) c then 1%Z else 0%Z) rows_D).
  induction 1; simpl; auto using timesZ_swap; congruence.
Qed.

Lemma node_permuted c f g : Permutation f g -> meets c f = meets c g /\ node c f = node c g.
Proof.
  intro P. unfold meets, node, gammas, total.
  rewrite (column_permuted c f g P), (sum_permuted _ _ (Permutation_map size P)),
    (gammas_permuted _ _ (Permutation_map gamma P)). now split.
Qed.

(* ---- The lists above have every tree. ---- *)

Lemma all_colours : forall c, In c colours.
Proof. destruct c; simpl; tauto. Qed.

Lemma split_off (t : summary) l f :
  Forall (fun x => In x (t :: l)) f ->
  exists j g, Permutation f (repeat t j ++ g) /\ Forall (fun x => In x l) g.
Proof.
  induction 1 as [ | x f [E | I] F (j & g & P & G)].
  - exists 0%nat, []. now split.
  - subst x. exists (S j), g. split; [ now apply perm_skip | assumption ].
  - exists j, (x :: g). split; [ now apply Permutation_cons_app | now constructor ].
Qed.

Lemma total_split t j g : total (repeat t j ++ g) = (j * size t + total g)%nat.
Proof.
  unfold total. rewrite map_app, list_sum_app. f_equal.
  induction j; [ reflexivity | ]. simpl in *. now rewrite IHj.
Qed.

Lemma forests_complete : forall l f,
  Forall (fun x => (0 < size x)%nat) f -> Forall (fun x => In x l) f ->
  exists g, Permutation f g /\ In g (forests l (total f)).
Proof.
  induction l as [ | t l IH]; intros f N I.
  - destruct I as [ | x f [] _]. exists []. now split; [ | left ].
  - destruct (split_off t l f I) as (j & g & P & G).
    pose proof (sum_permuted _ _ (Permutation_map size P)) as E. fold (total f) in E.
    fold (total (repeat t j ++ g)) in E. rewrite total_split in E.
    pose proof (Permutation_Forall P N) as M. apply Forall_app in M. destruct M as [M M'].
    destruct (IH g M' G) as (h & Q & J).
    exists (repeat t j ++ h). split; [ rewrite P; now apply Permutation_app_head | ].
    destruct (total f) as [ | k].
    + destruct j; [ | inversion_clear M; simpl in E; lia ].
      destruct g as [ | x g]; [ | inversion_clear M'; unfold total in E; simpl in E; lia ].
      apply Permutation_nil in Q. subst h. destruct l; now left.
    + cbn [forests]. apply in_flat_map. exists j. split.
      * apply in_seq. destruct j; [ lia | ]. inversion_clear M. nia.
      * replace (j * size t <=? S k)%nat with true by (symmetry; apply Nat.leb_le; lia).
        apply in_map. now replace (S k - j * size t)%nat with (total g) by lia.
Qed.

Lemma subtree_smaller f s : In s f -> (order s <= list_sum (map order f))%nat.
Proof.
  unfold list_sum. induction f as [ | t f IH]; simpl; [ tauto | ].
  intros [E | I]; [ subst; lia | specialize (IH I); lia ].
Qed.

Lemma subtrees_listed m f :
  (forall t, (order t <= m)%nat -> In (summarise t) (summaries m)) -> list_sum (map order f) = m ->
  exists g, Permutation (map summarise f) g /\ In g (forests (summaries m) m).
Proof.
  intros L T. pose proof (forests_complete (summaries m) (map summarise f)) as C.
  rewrite total_is, T in C. apply C; apply Forall_forall; intros x I;
    apply in_map_iff in I; destruct I as (t & <- & J).
  - rewrite size_is. destruct t. simpl. lia.
  - apply L. rewrite <- T. now apply subtree_smaller.
Qed.

Lemma summaries_complete : forall n t, (order t <= n)%nat -> In (summarise t) (summaries n).
Proof.
  induction n as [ | m IH]; intros [c f] L; cbn [order] in L; [ lia | ].
  cbn [summaries]. apply in_or_app.
  destruct (Nat.eq_dec (list_sum (map order f)) m) as [E | N].
  - right. destruct (subtrees_listed m f IH E) as (g & P & I).
    apply in_flat_map. exists g. split; [ assumption | ].
    cbn [summarise]. destruct (node_permuted c _ _ P) as [_ ->].
    apply (in_map (fun c => node c g)), all_colours.
  - left. apply IH. cbn [order]. lia.
Qed.

Lemma computed : forallb all_meet (seq 0 claimed) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* ---- Series in h are sums over trees. ---- *)

Section Series.
Variable W : space.
Variable f : field W.

(* What the series are made of: sum of a g(t) F(t) over a list of numbers a and trees t. *)
Fixpoint differential (t : tree) : W :=
  match t with Node c l => derivative f c (map differential l) end.
Definition expand (g : tree -> Q) (l : list (Q * tree)) : W :=
  sum (map (fun x => scale (fst x * g (snd x)) (differential (snd x))) l).

Fixpoint choices {A : Type} (l : list (list A)) : list (list A) :=
  match l with
  | [] => [[]]
  | x :: l' => flat_map (fun a => map (cons a) (choices l')) x
  end.

Definition numbers_of (x : list (Q * tree)) : Q := product (map fst x).
Definition grown (L : nat -> list (Q * tree)) (c : colour) (p : list nat) : list (Q * tree) :=
  map (fun x => ((1 # Pos.of_nat (fact (length p))) * numbers_of x, Node c (map snd x)))
      (choices (map L p)).
Definition next (L : nat -> list (Q * tree)) (n : nat) : list (Q * tree) :=
  flat_map (fun c => flat_map (grown L c) (parts n n)) colours.

Lemma parts_are : forall most n p, In p (parts most n) ->
  list_sum p = n /\ forall k, In k p -> (0 < k <= n)%nat.
Proof.
  unfold list_sum. induction most as [ | m IH]; intros [ | n] p I; cbn [parts] in I;
    try (destruct I as [<- | []]; split; [ reflexivity | now intros ]); [ destruct I | ].
  apply in_flat_map in I. destruct I as (k & S & I). apply in_seq in S.
  apply in_map_iff in I. destruct I as (q & <- & I). destruct (IH _ _ I) as [E N].
  cbn [fold_right]. split; [ lia | ]. intros j [<- | J]; [ lia | ]. specialize (N j J). lia.
Qed.

Lemma plus_zero_r (v : W) : plus v zero = v.
Proof. now rewrite plus_comm, plus_zero. Qed.

Lemma scale_zero_r q : scale q (zero : W) = zero.
Proof.
  rewrite <- (scale_zero W zero), <- scale_times. apply scale_equal. ring.
Qed.

Lemma sum_app (l l' : list W) : sum (l ++ l') = plus (sum l) (sum l').
Proof.
  unfold sum. induction l as [ | x l IH]; simpl; [ now rewrite plus_zero | ].
  now rewrite IH, plus_assoc.
Qed.

Lemma sum_flat (A : Type) (g : A -> list W) l : sum (flat_map g l) = sum (map (fun x => sum (g x)) l).
Proof. induction l; simpl; [ reflexivity | ]. now rewrite sum_app, IHl. Qed.

Lemma scale_of_sum q (l : list W) : scale q (sum l) = sum (map (scale q) l).
Proof.
  unfold sum. induction l; simpl; [ apply scale_zero_r | ]. now rewrite scale_plus, IHl.
Qed.

Lemma sum_same (A : Type) (g h : A -> W) l :
  (forall x, In x l -> g x = h x) -> sum (map g l) = sum (map h l).
Proof. intro E. f_equal. now apply map_ext_in. Qed.

Lemma expand_flat (A : Type) g (h : A -> list (Q * tree)) l :
  expand g (flat_map h l) = sum (map (fun x => expand g (h x)) l).
Proof.
  unfold expand. induction l; simpl; [ reflexivity | ]. now rewrite map_app, sum_app, IHl.
Qed.

Lemma expand_same g h l :
  (forall x, In x l -> g (snd x) == h (snd x)) -> expand g l = expand h l.
Proof.
  intro E. apply sum_same. intros x I. apply scale_equal. now rewrite (E x I).
Qed.

Lemma expand_zero l : expand (fun _ => 0) l = zero.
Proof.
  unfold expand, sum. induction l as [ | x l IH]; simpl; [ reflexivity | ].
  rewrite IH, plus_zero_r, (scale_equal W _ 0) by ring. apply scale_zero.
Qed.

Lemma expand_scale q g l : scale q (expand g l) = expand (fun t => q * g t) l.
Proof.
  unfold expand. rewrite scale_of_sum, map_map. apply sum_same. intros x _.
  rewrite <- scale_times. apply scale_equal. ring.
Qed.

Lemma expand_plus g h l : plus (expand g l) (expand h l) = expand (fun t => g t + h t) l.
Proof.
  unfold expand, sum. induction l as [ | x l IH]; simpl; [ apply plus_zero | ].
  rewrite <- IH, (scale_equal W (fst x * (g (snd x) + h (snd x))) (fst x * g (snd x) + fst x * h (snd x)))
    by ring.
  rewrite scale_sum, <- !plus_assoc. f_equal. rewrite !plus_assoc. f_equal. apply plus_comm.
Qed.

Lemma expand_combined (A : Type) (g : A -> tree -> Q) l : forall r s,
  combine r (map (fun x => expand (g x) l) s) = expand (fun t => dot r (map (fun x => g x t) s)) l.
Proof.
  intros r s. revert r. induction s as [ | x s IH]; intros [ | q r]; simpl;
    try (symmetry; apply expand_zero).
  now rewrite IH, expand_scale, expand_plus.
Qed.

(* A derivative of sums is the sum over all choices of one term in each. *)
Lemma derivative_zero c l l' : derivative f c (l ++ zero :: l') = zero.
Proof.
  pose proof (linear f c l l' 0 zero 0 zero) as E. rewrite !scale_zero, plus_zero in E. exact E.
Qed.

Lemma derivative_sum c l l' (A : Type) (q : A -> Q) (v : A -> W) x :
  derivative f c (l ++ sum (map (fun a => scale (q a) (v a)) x) :: l') =
  sum (map (fun a => scale (q a) (derivative f c (l ++ v a :: l'))) x).
Proof.
  induction x as [ | a x IH]; [ apply derivative_zero | ]. cbn [map]. unfold sum in *. cbn [fold_right].
  rewrite <- IH. set (rest := fold_right plus zero _).
  rewrite <- (scale_one W rest) at 1. now rewrite linear, scale_one.
Qed.

Lemma derivative_expands c g (u : nat -> W) L : forall p l,
  (forall k, In k p -> u k = expand g (L k)) ->
  derivative f c (l ++ map u p) =
  sum (map (fun x => scale (numbers_of x * product (map (fun y => g (snd y)) x))
                           (derivative f c (l ++ map (fun y => differential (snd y)) x)))
           (choices (map L p))).
Proof.
  induction p as [ | k p IH]; intros l E.
  - unfold numbers_of, product, sum. simpl. rewrite plus_zero_r, (scale_equal W _ 1) by ring.
    now rewrite scale_one.
  - cbn [map choices]. rewrite (E k) by now left. unfold expand at 1.
    rewrite derivative_sum, flat_map_concat_map, concat_map, map_map, <- flat_map_concat_map, sum_flat.
    apply sum_same. intros a _. rewrite map_map.
    change (differential (snd a) :: map u p) with ([differential (snd a)] ++ map u p).
    rewrite app_assoc, IH by (intros; apply E; now right).
    rewrite scale_of_sum, map_map. apply sum_same. intros x _.
    rewrite <- scale_times, <- app_assoc. apply scale_equal.
    unfold numbers_of, product. simpl. ring.
Qed.

Lemma taylor_expands c g h (u : nat -> W) L n :
  (forall k, (0 < k <= n)%nat -> u k = expand g (L k)) ->
  (forall l, h (Node c l) == product (map g l)) ->
  taylor f c u n = expand h (flat_map (grown L c) (parts n n)).
Proof.
  intros E G. rewrite expand_flat. apply sum_same. intros p I.
  assert (N : forall k, In k p -> u k = expand g (L k)) by (intros; now apply E, (parts_are n n p)).
  pose proof (derivative_expands c g u L p [] N) as D'. cbn [app] in D'. rewrite D'.
  unfold expand, grown. rewrite scale_of_sum, !map_map. apply sum_same. intros x _.
  cbn [fst snd differential]. rewrite <- scale_times, map_map.
  apply scale_equal. rewrite G, map_map. ring.
Qed.

(* What a stage has on a tree, as in `values`. *)
Definition value (s : stage) (t : tree) : Q :=
  match t with
  | Node c l => if same (calls s) c then product (map (dot (row s)) (map values l)) else 0
  end.
Definition exact (t : tree) : Q := 1 # density t.

Lemma values_are t : values t = map (fun s => value s t) scheme.
Proof. now destruct t. Qed.

Lemma only (G : colour -> W) a l :
  NoDup l -> In a l -> (forall c, c <> a -> G c = zero) -> sum (map G l) = G a.
Proof.
  intros N I Z. induction N as [ | c l M N IH]; [ destruct I | ].
  unfold sum in *. cbn [map fold_right]. destruct I as [E | I].
  - subst c. replace (fold_right plus zero (map G l)) with (zero : W); [ apply plus_zero_r | ].
    clear IH N. induction l as [ | x l IH]; [ reflexivity | ]. cbn [map fold_right].
    rewrite <- IH, Z, plus_zero; [ reflexivity | | ]; intro J; apply M; [ subst; now left | now right ].
  - rewrite (Z c), plus_zero; [ now apply IH | intro E; now subst ].
Qed.

Lemma colours_once : NoDup colours.
Proof. repeat (constructor; [ simpl; intuition discriminate | ]). constructor. Qed.

Lemma next_of_stage s L n :
  expand (value s) (next L n) =
  expand (fun t => match t with Node _ l => product (map (fun t => dot (row s) (values t)) l) end)
         (flat_map (grown L (calls s)) (parts n n)).
Proof.
  unfold next. rewrite expand_flat, (only _ (calls s));
    [ | apply colours_once | apply all_colours | ].
  - apply expand_same. intros x I. apply in_flat_map in I. destruct I as (p & _ & I).
    apply in_map_iff in I. destruct I as (y & <- & _). cbn [snd value].
    destruct (same (calls s) (calls s)); [ now rewrite map_map | congruence ].
  - intros c N. rewrite <- (expand_zero (flat_map (grown L c) (parts n n))). apply expand_same.
    intros x I. apply in_flat_map in I. destruct I as (p & _ & I).
    apply in_map_iff in I. destruct I as (y & <- & _). cbn [snd value].
    destruct (same (calls s) c); [ congruence | reflexivity ].
Qed.

Lemma exact_of l : product (map exact l) == 1 # fold_right Pos.mul 1%positive (map density l).
Proof.
  unfold product. induction l as [ | t l IH]; [ reflexivity | ]. cbn [map fold_right].
  rewrite IH. reflexivity.
Qed.

Lemma choices_orders (L : nat -> list (Q * tree)) : forall p x,
  (forall k y, In k p -> In y (L k) -> order (snd y) = k) -> In x (choices (map L p)) ->
  map order (map snd x) = p.
Proof.
  induction p as [ | k p IH]; intros x O I; cbn [map choices] in I.
  - destruct I as [<- | []]. reflexivity.
  - apply in_flat_map in I. destruct I as (a & J & I). apply in_map_iff in I.
    destruct I as (y & <- & I). cbn [map]. f_equal; [ now apply O; [ left | ] | ].
    apply IH; [ | assumption ]. intros; apply O; [ now right | assumption ].
Qed.

Lemma next_orders L n x :
  (forall k y, (0 < k <= n)%nat -> In y (L k) -> order (snd y) = k) ->
  In x (next L n) -> order (snd x) = S n.
Proof.
  intros O I. unfold next in I. apply in_flat_map in I. destruct I as (c & _ & I).
  apply in_flat_map in I. destruct I as (p & P & I). apply in_map_iff in I.
  destruct I as (y & <- & I). apply parts_are in P. destruct P as [S N]. cbn [snd order].
  f_equal. rewrite <- S. f_equal. apply (choices_orders L); [ | assumption ].
  intros; now apply O; [ apply N | ].
Qed.

Variable K : nat -> list W.
Variable Y : nat -> W.
Hypothesis HK : stages_of f K.
Hypothesis HY : solution_of f Y.

Definition described (L : nat -> list (Q * tree)) (k : nat) : Prop :=
  K k = map (fun s => expand (value s) (L k)) scheme /\ Y k = expand exact (L k) /\
  forall x, In x (L k) -> order (snd x) = k.

Lemma next_described L n :
  (forall k, (0 < k <= n)%nat -> described L k) ->
  K (S n) = map (fun s => expand (value s) (next L n)) scheme /\ Y (S n) = expand exact (next L n) /\
  forall x, In x (next L n) -> order (snd x) = S n.
Proof.
  intro D'. assert (O : forall x, In x (next L n) -> order (snd x) = S n).
  { intros x. apply next_orders. intros k y I. now apply (D' k I). }
  split; [ | split; [ | assumption ] ].
  - rewrite (HK n). apply map_ext. intro s. rewrite next_of_stage.
    apply taylor_expands with (g := fun t => dot (row s) (values t)); [ | reflexivity ].
    intros k I. destruct (D' k I) as [-> _]. rewrite expand_combined. apply expand_same.
    intros x _. now rewrite values_are.
  - pose proof (HY n) as E. set (m := inject_Z (Z.of_nat (S n))) in E.
    assert (M : (1 # Pos.of_nat (S n)) * m == 1).
    { unfold m, Qeq. cbn [Qnum Qden Qmult inject_Z Z.of_nat]. rewrite <- Pos.of_nat_succ. lia. }
    rewrite <- (scale_one W (Y (S n))), <- (scale_equal W _ _ _ M), scale_times, E.
    set (h := fun t => match t with Node _ l => product (map exact l) end).
    replace (sum (map (fun c => taylor f c Y n) colours)) with (expand h (next L n)).
    + rewrite expand_scale. apply expand_same. intros x I. apply O in I. destruct x as [a [c l]].
      cbn [snd] in *. unfold h, exact at 2. rewrite exact_of. cbn [density]. rewrite I. reflexivity.
    + unfold next. rewrite expand_flat. apply sum_same. intros c _. symmetry.
      apply taylor_expands with (g := exact); [ | reflexivity ]. intros k I. now apply D'.
Qed.

Lemma all_described n : exists L, forall k, (0 < k <= n)%nat -> described L k.
Proof.
  induction n as [ | n [L IH]]; [ exists (fun _ => []); intros; lia | ].
  exists (fun k => if (k =? S n)%nat then next L n else L k). intros k I. unfold described.
  destruct (Nat.eqb_spec k (S n)) as [-> | N]; [ now apply next_described | apply IH; lia ].
Qed.
End Series.

(* ==== THEOREMS ==== *)

(* Every condition up to the order that is claimed holds. *)
Theorem conditions_hold : forall t : tree, (order t <= claimed)%nat -> condition t.
Proof.
  intros [c f] L. apply meets_is. cbn [order] in L.
  destruct (subtrees_listed (list_sum (map order f)) f) as (g & P & I);
    [ apply summaries_complete | reflexivity | ].
  destruct (node_permuted c _ _ P) as [-> _].
  pose proof computed as C. rewrite forallb_forall in C.
  specialize (C (list_sum (map order f)) ltac:(apply in_seq; lia)).
  unfold all_meet in C. rewrite forallb_forall in C. specialize (C g I).
  rewrite forallb_forall in C. apply C, all_colours.
Qed.

(* One of the next order does not. *)
Theorem condition_fails : order failing = S claimed /\ ~ condition failing.
Proof.
  split; [ vm_compute; reflexivity | ]. destruct failing as [c f] eqn:T.
  intro E. apply meets_is in E. inversion T; subst. vm_compute in E. discriminate.
Qed.

(* The order is `claimed` at least: the method's step and the solution have the same factors of h, ..., h^claimed. *)
Theorem order_holds : forall (W : space) (f : field W) (K : nat -> list W) (Y : nat -> W),
  stages_of f K -> solution_of f Y ->
  forall n, (0 < n <= claimed)%nat -> combine (map b scheme) (K n) = Y n.
Proof.
  intros W f K Y HK HY n N. destruct (all_described W f K Y HK HY n) as [L E].
  destruct (E n ltac:(lia)) as (-> & -> & O). rewrite expand_combined. apply expand_same.
  intros x I. rewrite <- values_are. apply conditions_hold. rewrite (O x I). lia.
Qed.

(* There are so many trees of order 1, 2, ...: one condition each. *)
Theorem trees_counted :
  map (fun m => length colours * length (forests (summaries m) m))%nat (seq 0 claimed) = numbers.
Proof. vm_cast_no_check (eq_refl numbers). Qed.

(* What Coq prints: the statements, and that they rest on no axiom. *)
Print claimed.
Check conditions_hold.
Check condition_fails.
Check order_holds.
Print Assumptions conditions_hold.
Print Assumptions condition_fails.
Print Assumptions order_holds.
