(* certificate_stages.v: the order of a one-step method of stages, for Coq: `coqc FILE` accepts it or does not. It needs
   Coq's standard library alone. `trotter schemes --certificate coq --scheme NAME` writes it with another scheme in the
   two places that lie between the words `begin` and `end`; all else is the same for every scheme.

   To know what is proved, read the definitions down to the word PROOFS, and the theorems at the end, which say that
   every rooted tree with at most `claimed` vertices meets its order condition, and that the tree `failing`, which has
   one vertex more, does not. The proofs need no reading: Coq has checked them.

   That such a method has the order `claimed` on every smooth field, and no higher one, is the theorem of Butcher (Hairer,
   Norsett, Wanner 1993, "Solving Ordinary Differential Equations I", theorems II.2.11 and II.2.13; for several colours
   Araujo, Murua, Sanz-Serna 1997). This file does not prove it. *)
Require Import QArith List Lia Permutation.
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

(* There are so many trees of order 1, 2, ...: one condition each. *)
Theorem trees_counted :
  map (fun m => length colours * length (forests (summaries m) m))%nat (seq 0 claimed) = numbers.
Proof. vm_cast_no_check (eq_refl numbers). Qed.

(* What Coq prints: the statements, and that they rest on no axiom. *)
Print claimed.
Check conditions_hold.
Check condition_fails.
Print Assumptions conditions_hold.
Print Assumptions condition_fails.
